"""PTX interpreter: runs the CUDA compiler's PTX on the CPU (see assembler.py)."""
