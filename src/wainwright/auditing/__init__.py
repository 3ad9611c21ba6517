"""What a wheel promises and what it needs: the verdict, the rules, and the two ways to make a wheel keep its word."""
