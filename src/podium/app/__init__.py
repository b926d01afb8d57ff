"""Use cases: what every frontend can ask of Podium."""
