"""What a run is: its values, where they come from, and what they build."""
