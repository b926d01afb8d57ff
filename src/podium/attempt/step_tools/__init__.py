"""The tools that a worker has inside its step: ask, note, progress, blocked, artifact, step. Nothing here decides."""
