"""PTX, what the CUDA compiler makes of the kernels, run on the CPU (see assembler.py)."""
