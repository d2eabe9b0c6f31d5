"""What a finished run is for: evaluate, play, export."""
