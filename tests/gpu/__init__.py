"""What `.ci/gpu` runs on a device besides tests: comparison with the CPU, scale, collectives."""
