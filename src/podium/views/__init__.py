"""Events and graphs as people look at them; pure, and shared by every frontend."""
