"""The paper's ant: one task, two simulators."""
