"""The CUDA platform: NVRTC compiles to machine code without a device, CuPy runs it. Nothing else imports CuPy."""
