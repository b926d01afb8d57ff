"""What happens next: enter, expand, dispatch, retry, join, ask, complete."""
