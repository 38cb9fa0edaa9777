"""qdq as a package of Conan 2: the library, its headers and the front ends.

    pip install conan halide==21.0.0 "cmake>=3.28" ninja
    conan create packaging/conan --build=missing

Halide's compiler is the wheel beside Conan; -c user.qdq:halide=FOLDER names another, where Halide/ and HalideHelpers/ are.
"""

import importlib.util
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir

SOURCES = ("CMakeLists.txt", "LICENSE", "cmake/*", "docs/conformance_digests.txt", "generators/*", "kernels/*", "runtime/*", "schedules/*")
# What picks kernels: the recipe's options, by CMake's names. "all" picks all.
PICKED = {name: f"QDQ_{name.upper()}" for name in ("targets", "kernels", "float_types", "stored_types")}


class Qdq(ConanFile):
    name = "qdq"
    description = "Quantize and dequantize kernels, compiled ahead of time, with one defined result on every processor"
    license = "Apache-2.0"
    topics = ("quantization", "simd", "inference")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], **{name: ["ANY"] for name in PICKED}}
    default_options = {"shared": False, "fPIC": True, **dict.fromkeys(PICKED, "all")}

    def _checkout(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._checkout(), "runtime/include/qdq/qdq.h"))
        self.version = ".".join(re.findall(r"#define QDQ_VERSION_[A-Z]+ (\d+)", header))

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, self._checkout(), self.export_sources_folder)

    def configure(self):
        # An interface in C, and no C++ library inside.
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("qdq is for Linux")

    def _halide(self):
        """Where CMake's packages of Halide are."""
        given = self.conf.get("user.qdq:halide", check_type=str)
        wheel = importlib.util.find_spec("halide")
        if not given and not wheel:
            raise ConanInvalidConfiguration("Halide is not found: \"pip install halide==21.0.0\" beside Conan, or "
                                            "-c user.qdq:halide=FOLDER")  # fmt: skip
        return given or os.path.join(wheel.submodule_search_locations[0], "lib64", "cmake")

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        for package in ("Halide", "HalideHelpers"):
            toolchain.cache_variables[f"{package}_DIR"] = os.path.join(self._halide(), package)
        for tool in ("CLI", "EXAMPLES", "TESTS", "BENCH"):
            toolchain.cache_variables[f"QDQ_BUILD_{tool}"] = False
        for name, variable in PICKED.items():
            picked = str(getattr(self.options, name))
            toolchain.cache_variables[variable] = "" if picked == "all" else picked.replace(",", ";")
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan's generators write these of package_info().
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rm(self, "libqdq.a" if self.options.shared else "libqdq.so*", os.path.join(self.package_folder, "lib"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "qdq")
        core, front_end = self.cpp_info.components["core"], self.cpp_info.components["compat_aclnn"]
        core.set_property("cmake_target_name", "qdq::qdq")
        core.set_property("cmake_target_aliases", ["qdq::cpp"])
        core.set_property("pkg_config_name", "qdq")
        core.libs = ["qdq"]
        core.system_libs = ["m", "pthread", "dl"]
        front_end.set_property("cmake_target_name", "qdq::compat_aclnn")
        front_end.includedirs = ["include", "include/qdq/compat/cann"]
        front_end.libs = ["qdq_compat_aclnn"]
        front_end.requires = ["core"]
