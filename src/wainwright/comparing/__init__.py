"""What differs between two wheels, and which two are to be compared."""
