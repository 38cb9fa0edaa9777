"""The recipes of packaging/: Conan's builds and tries its package, conda's is rendered, vcpkg's port configures.

usage: recipes_test.py BUILD.json     `make recipes` installs the tools and runs this. vcpkg itself is not run.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from support import BUILD, SOURCES, main, run

PACKAGING = SOURCES / "packaging"
TOOLS = pathlib.Path(sys.executable).parent
HALIDE = pathlib.Path(BUILD["halide_helpers"]).parent
VERSION = ".".join(re.findall(r"#define QDQ_VERSION_[A-Z]+ (\d+)", (SOURCES / "runtime/include/qdq/qdq.h").read_text()))

# What a port calls of vcpkg, as far as it can be had without it: the port's options are CMake's to judge.
VCPKG = """
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH OPTIONS)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${BUILD} -G Ninja -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}
    -DQDQ_GENERATORS=${GENERATORS} ${arg_OPTIONS} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" CONFIG_PATH "")
  file(STRINGS ${BUILD}/cmake_install.cmake places REGEX "/${arg_CONFIG_PATH}\\"")
  if(NOT places)
    message(FATAL_ERROR "nothing is installed to ${arg_CONFIG_PATH}")
  endif()
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()
include(${CURRENT_PORT_DIR}/portfile.cmake)
"""


class RecipeTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="qdq-recipes-"))
        self.addCleanup(shutil.rmtree, self.folder)


@unittest.skipUnless((TOOLS / "conan").exists(), "not run: conan is not installed, which `make recipes` does")
class Conan(RecipeTest):
    """A package of few rows, by the generators of this build."""

    def conan(self, *arguments):
        places = {"CONAN_HOME": str(self.folder), "PATH": f"{TOOLS}:{os.environ['PATH']}"}
        return run(TOOLS / "conan", *arguments, env={**os.environ, **places})

    def test_makes_a_package_that_programs_link(self):
        self.conan("profile", "detect")
        variables = json.dumps({"QDQ_GENERATORS": BUILD["generators"], "CMAKE_CXX_FLAGS_RELEASE": "-O1"})
        self.conan(  # which fails where a program of test_package/ does
            "create", PACKAGING / "conan", "-o", "&:stored_types=i8,i32", "-o", f"&:targets={BUILD['target']}",
            "-c", f"user.qdq:halide={HALIDE}", "-c", f"tools.cmake.cmaketoolchain:extra_variables={variables}",
            "-c", f"tools.cmake.cmake_layout:test_folder={self.folder}/test", "-c", "tools.cmake.cmaketoolchain:user_presets=")
        package = next(self.folder.glob("p/b/*/p"))
        self.assertTrue((package / "licenses/LICENSE").exists())
        self.assertEqual([file.name for file in (package / "lib").iterdir() if not file.is_dir()].count("libqdq.so"), 0)


@unittest.skipUnless(importlib.util.find_spec("rattler_build"), "not run: rattler-build is not installed, which `make recipes` does")
class Conda(unittest.TestCase):
    def rendered(self, platform):
        import rattler_build

        recipe = rattler_build.Stage0Recipe.from_file(PACKAGING / "conda/recipe.yaml")
        of_conda_forge = rattler_build.VariantConfig({"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]})
        machine = rattler_build.PlatformConfig(target_platform=platform, host_platform=platform)
        (variant,) = recipe.render(of_conda_forge, rattler_build.RenderConfig(platform=machine))
        return variant.recipe.to_dict()

    def test_has_the_version_and_the_compilers_of_each_processor(self):
        for platform in ("linux-64", "linux-aarch64"):
            with self.subTest(platform):
                recipe = self.rendered(platform)
                self.assertEqual((recipe["package"]["name"], recipe["package"]["version"]), ("qdq", VERSION))
                self.assertIn(f"gxx_{platform}", str(recipe["requirements"]["build"]))


class Vcpkg(RecipeTest):
    PORT = PACKAGING / "vcpkg/qdq"

    def test_names_the_version_and_only_what_manifests_have(self):
        manifest = json.loads((self.PORT / "vcpkg.json").read_text())
        self.assertEqual((manifest["name"], manifest["version"]), ("qdq", VERSION))
        self.assertEqual(list(manifest), ["name", "version", "description", "license", "supports", "dependencies"])
        names = [dependency["name"] for dependency in manifest["dependencies"]]
        self.assertEqual(names, sorted(names))

    def test_configures(self):
        for folder, package in (("halide", "Halide"), ("HalideHelpers", "HalideHelpers")):
            place = self.folder / "host/share" / folder
            place.mkdir(parents=True)
            for file in (f"{package}Config.cmake", f"{package}ConfigVersion.cmake"):
                (place / file).write_text(f"include({HALIDE}/{package}/{file})\n")
        script = self.folder / "vcpkg.cmake"
        script.write_text(VCPKG)
        settings = {"PORT": "qdq", "CURRENT_PORT_DIR": self.PORT, "CURRENT_HOST_INSTALLED_DIR": self.folder / "host",
                    "CURRENT_PACKAGES_DIR": self.folder / "packages", "BUILD": self.folder / "build", "GENERATORS": BUILD["generators"]}
        said = run(BUILD["cmake"], *(f"-D{name}={value}" for name, value in settings.items()), "-P", script,
                   env={**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"})
        self.assertNotIn("not used by the project", said)
        installed = {str(file.relative_to(self.folder / "packages")) for file in (self.folder / "packages").rglob("*") if file.is_file()}
        self.assertEqual(installed, {"share/qdq/copyright", "share/qdq/usage"})


if __name__ == "__main__":
    main()
