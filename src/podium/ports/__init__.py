"""The protocols adapters satisfy, one file per port."""
