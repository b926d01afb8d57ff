"""What every runtime needs: command codec, timers, status, answer checks, question text, reading a log."""
