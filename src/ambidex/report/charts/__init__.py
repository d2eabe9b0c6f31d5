"""What figures show, and what draws them: matplotlib for files, plotly for the page."""
