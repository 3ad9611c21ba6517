#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "backends.h"

static const struct {
    const char *name;
    backend *sum;
} BUILT[] = {
#ifdef WITH_LOOP
    {"loop", sum_by_loop},
#endif
#ifdef WITH_THREADS
    {"threads", sum_by_threads},
#endif
#ifdef WITH_DL
    {"dl", sum_by_dl},
#endif
};
enum { COUNT = sizeof BUILT / sizeof *BUILT };

static PyObject *built_backends(PyObject *module, PyObject *none)
{
    PyObject *names = PyTuple_New(COUNT);
    for (Py_ssize_t i = 0; names != NULL && i < COUNT; i++) {
        PyObject *name = PyUnicode_FromString(BUILT[i].name);
        if (name == NULL)
            Py_CLEAR(names);
        else
            PyTuple_SET_ITEM(names, i, name);
    }
    return names;
}

static PyObject *sum(PyObject *module, PyObject *args)
{
    Py_buffer values;
    const char *name, *fault = NULL;
    double total = 0;
    if (!PyArg_ParseTuple(args, "y*s", &values, &name))
        return NULL;
    size_t i = 0;
    while (i < COUNT && strcmp(BUILT[i].name, name) != 0)
        i++;
    if (i < COUNT) {
        Py_BEGIN_ALLOW_THREADS
        fault = BUILT[i].sum(values.buf, (size_t)values.len / sizeof(double), &total);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&values);
    if (i == COUNT)
        return PyErr_Format(PyExc_LookupError, "the backend %s is not in this build", name);
    if (fault != NULL)
        return PyErr_Format(PyExc_OSError, "%s", fault);
    return PyFloat_FromDouble(total);
}

static PyMethodDef METHODS[] = {
    {"built_backends", built_backends, METH_NOARGS, "Give the names of the backends that were compiled in."},
    {"sum", sum, METH_VARARGS, "Add the doubles of a buffer by a backend."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModule_Create(&MODULE);
}
