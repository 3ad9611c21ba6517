#include "backends.h"

#include <dlfcn.h>

/* By soname, as a GPU driver would be opened: the wheel does not need it, the machine has it or has not. */
const char *sum_by_dl(const double *values, size_t count, double *total)
{
    static double (*fma)(double, double, double);
    if (fma == NULL) {
        void *libm = dlopen("libm.so.6", RTLD_NOW);
        if (libm == NULL)
            return dlerror();
        *(void **)&fma = dlsym(libm, "fma");
        if (fma == NULL)
            return dlerror();
    }
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = fma(values[i], 1.0, sum);
    *total = sum;
    return NULL;
}
