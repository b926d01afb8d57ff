"""What `import podium` gives."""
