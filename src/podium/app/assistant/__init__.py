"""What an assistant or an editor may do with a project, beyond what every frontend may."""
