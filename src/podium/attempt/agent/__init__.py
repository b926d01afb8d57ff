"""An agent's attempt: resolve, run, read, assess, account, keep transcript and session."""
