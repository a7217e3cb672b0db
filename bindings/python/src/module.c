/* module.c: the module libcohort._core, put together from its files. */
#include "core.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "Calls of the library cohort.", -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    PyMethodDef *const functions[] = {
        array_functions,         array_in_functions,   loop_functions,      context_functions,
        ops_functions,           map_functions,        multimap_functions,  sets_functions,
        table_in_functions,      table_functions,      table_out_functions, table_pickle_functions,
        kmers_functions,         dlpack_functions,     device_functions,    reading_functions,
        table_columns_functions, table_join_functions, taken_functions};
    bool failed = array_ready(module) || context_ready(module);
    for (size_t i = 0; !failed && i < sizeof functions / sizeof *functions; ++i)
        failed = PyModule_AddFunctions(module, functions[i]) != 0;
#ifdef Py_GIL_DISABLED
    failed = failed || PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) != 0;
#endif
    if (failed)
        Py_CLEAR(module);
    return module;
}
