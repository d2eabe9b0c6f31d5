"""From a file to a model that MuJoCo has compiled, with notes on what had to be assumed."""
