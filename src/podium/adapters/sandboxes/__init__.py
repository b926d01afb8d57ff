"""The walls around a process, one level each; see the ladder in ports.SandboxLevel."""
