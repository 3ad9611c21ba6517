"""Where jobs run: containers, images, the host, the toolchain zig, and what a place's own loader says."""
