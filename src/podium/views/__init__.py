"""Events to what people look at; pure."""
