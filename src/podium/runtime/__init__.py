"""What every runtime shares and is pure: command codec, timers, status, answer checks, question text."""
