// Calls of Python's extension with any arguments, by tests/python/any_arguments.py in an interpreter of this program.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

// What fails in want of memory is a MemoryError. Objects that an interpreter keeps to its end are no leaks.
extern "C" const char *__asan_default_options() {
    return "allocator_may_return_null=1:max_allocation_size_mb=256:detect_leaks=0";
}

namespace {

[[noreturn]] void fail() {
    PyErr_Print();
    std::abort();
}

void require(const PyStatus &status) {
    if (PyStatus_Exception(status)) {
        std::fprintf(stderr, "%s: %s\n", status.func != nullptr ? status.func : "Python", status.err_msg);
        std::abort();
    }
}

// Objects come from malloc, which the sanitizer watches, and not from Python's pools.
void start_python() {
    PyPreConfig before;
    PyPreConfig_InitPythonConfig(&before);
    before.allocator = PYMEM_ALLOCATOR_MALLOC;
    before.utf8_mode = 1;
    require(Py_PreInitialize(&before));
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    config.write_bytecode = 0;
    require(PyConfig_SetBytesString(&config, &config.program_name, QDQ_PYTHON));
    require(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
}

// any_arguments.one_input, with the package of the source tree over the extension of this build.
PyObject *import_driver() {
    const int done = PyRun_SimpleString(R"(
import importlib.util, sys, warnings
warnings.simplefilter("ignore")
sys.path[:0] = [")" QDQ_SOURCE R"(/python", ")" QDQ_SOURCE R"(/tests/python"]
of_core = importlib.util.spec_from_file_location("qdq._core", ")" QDQ_CORE R"(")
sys.modules["qdq._core"] = importlib.util.module_from_spec(of_core)
of_core.loader.exec_module(sys.modules["qdq._core"])
import qdq
qdq.set_num_threads(1)
)");
    PyObject *const module = done == 0 ? PyImport_ImportModule("any_arguments") : nullptr;
    PyObject *const function = module != nullptr ? PyObject_GetAttrString(module, "one_input") : nullptr;
    if (function == nullptr) {
        fail();
    }
    return function;
}

PyObject *one_input() {
    static PyObject *const function = (start_python(), import_driver());
    return function;
}

}  // namespace

// Before libFuzzer counts the edges that it has loaded.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    one_input();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    PyObject *const result =
        PyObject_CallFunction(one_input(), "y#", reinterpret_cast<const char *>(data), static_cast<Py_ssize_t>(size));
    if (result == nullptr) {
        fail();
    }
    Py_DECREF(result);
    return 0;
}
