/* A backend adds `count` numbers into `total`; it gives NULL, or a sentence that says what went wrong. */
#ifndef TRICOLOR_BACKENDS_H
#define TRICOLOR_BACKENDS_H

#include <stddef.h>

typedef const char *backend(const double *values, size_t count, double *total);

backend sum_by_loop;
backend sum_by_threads;
backend sum_by_dl;

#endif
