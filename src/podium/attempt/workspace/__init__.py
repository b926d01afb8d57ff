"""Private clones and checkouts: setup, toolchain, ownership, pools."""
