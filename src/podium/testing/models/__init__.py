"""A model server on the loopback interface, for tests of agents."""
