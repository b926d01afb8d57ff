"""Use cases that every frontend shares."""
