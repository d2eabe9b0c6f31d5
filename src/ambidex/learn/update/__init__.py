"""One iteration: its constants, and the updates that use them."""
