"""What is published beside the report: the table of scenarios, summaries of runs, the page of a search."""
