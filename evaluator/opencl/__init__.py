"""The OpenCL platform: PoCL on CPUs, any vendor's driver elsewhere. Nothing else imports pyopencl."""
