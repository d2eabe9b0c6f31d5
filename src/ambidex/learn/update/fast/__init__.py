"""The update and roll-out of plain MLPs on the CPU, by hand."""
