"""Mask declared secrets; find undeclared ones in text."""
