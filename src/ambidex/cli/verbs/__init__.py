"""One file for each step of the flow, with the verbs that belong to it."""
