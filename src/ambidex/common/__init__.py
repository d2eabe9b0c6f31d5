"""What every step uses: files, YAML, words."""
