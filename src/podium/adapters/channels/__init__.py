"""Channels through which messages reach people: services by apprise, signed webhooks, the desktop, a command."""
