"""Files as bytes: zip archives, what a wheel puts in them, ELF files. Readers are strict, every offset is checked."""
