"""Gathers the files of a release into one folder, with their checksums and a list of what is inside them.

usage: tools/release.py BUILD FOLDER     BUILD: the folder where `make wheels`, `packages`, `debian-source` and `dist` leave theirs

FOLDER gets the wheels, the source distribution, the .deb packages, Debian's source package, the archives, qdq-<version>.cdx.json
(an SBOM as CycloneDX 1.6 has it) and SHA256SUMS. A file contains the libraries whose licenses are in it. The same files give the same bytes.
"""

import datetime
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import uuid
import zipfile

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import OutputFormat, make_outputter
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The libraries inside, by the names of their licenses' files: the registry and the package that the build takes them from.
LIBRARIES = {
    "CLI11": ("deb", "libcli11-dev", "BSD-3-Clause"),
    "Halide": ("pypi", "halide", "MIT"),
    "libcxx": ("pypi", "ziglang", "Apache-2.0 WITH LLVM-exception"),
    "LZMA": ("deb", "lzma-dev", "LZMA-SDK-9.22"),
    "musl": ("pypi", "ziglang", "MIT"),
    "nanobind": ("pypi", "nanobind", "BSD-3-Clause"),
    "nlohmann_json": ("deb", "nlohmann-json3-dev", "MIT"),
    "protozero": ("deb", "libprotozero-dev", "BSD-2-Clause"),
    "xxHash": ("deb", "libxxhash-dev", "BSD-2-Clause"),
    "yaml-cpp": ("deb", "libyaml-cpp-dev", "MIT"),
}


def version_of_qdq():
    header = (ROOT / "runtime/include/qdq/qdq.h").read_text()
    return ".".join(re.findall(r"#define QDQ_VERSION_[A-Z]+ (\d+)", header))


def time_of_sources():
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT)
    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)


def files_of(build, version):
    """What the other commands have made of this version."""
    of_version = {
        "wheels": (f"qdq-{version}-*.whl", f"qdq-{version}.tar.gz"),
        "packages": (f"*_{version}_*.deb",),
        "debian": (f"qdq_{version}-*.dsc", f"qdq_{version}.orig.tar.xz", f"qdq_{version}-*.debian.tar.xz"),
        "dist": (f"qdq-{version}-*.tar.gz",),
    }
    for folder, patterns in of_version.items():
        for pattern in patterns:
            found = sorted((build / folder).glob(pattern))
            if not found:
                sys.exit(f"{build / folder}: there is no {pattern}")
            yield from found


def names_in(path):
    if path.suffix == ".whl":
        return zipfile.ZipFile(path).namelist()
    if path.suffix == ".deb":
        return subprocess.check_output(["dpkg-deb", "--contents", path], text=True).splitlines()
    if path.suffix == ".dsc":  # a text that names the archives beside it
        return []
    with tarfile.open(path) as archive:
        return archive.getnames()


def libraries_in(path):
    found = {match[1] for name in names_in(path) if (match := re.search(r"/licenses/(\w[\w.-]*)\.txt$", name))}
    if unknown := found - LIBRARIES.keys():
        sys.exit(f"{path.name} has the license of {', '.join(sorted(unknown))}, which LIBRARIES of tools/release.py lacks")
    return found


def library_version(registry, package):
    if registry == "pypi":
        pins = "".join(path.read_text() for path in sorted((ROOT / "requirements").glob("*.txt")))
        return re.search(rf"^{re.escape(package)}==(.*)$", pins, re.MULTILINE)[1]
    return subprocess.check_output(["dpkg-query", "--show", "--showformat=${Version}", package], text=True)


def library(name):
    registry, package, license = LIBRARIES[name]
    version = library_version(registry, package)
    purl = PackageURL(registry, "debian" if registry == "deb" else None, package, version)
    return Component(name=name, version=version, purl=purl, bom_ref=name, licenses=[LicenseExpression(license)])


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bill_of_materials(files, version):
    """qdq, its files, and of each the libraries inside."""
    qdq = Component(name="qdq", version=version, type=ComponentType.LIBRARY, bom_ref="qdq", licenses=[LicenseExpression("Apache-2.0")])
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_OID, "".join(map(sha256, files))))
    bom.metadata.timestamp = time_of_sources()
    bom.metadata.component = qdq
    libraries = {}
    for path in files:
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=sha256(path))]
        file = Component(name=path.name, type=ComponentType.FILE, bom_ref=path.name, hashes=hashes)
        inside = [libraries.setdefault(name, library(name)) for name in sorted(libraries_in(path))]
        bom.components.add(file)
        bom.register_dependency(file, inside)
    bom.components.update(libraries.values())
    bom.register_dependency(qdq, libraries.values())
    return bom


def text_of(bom):
    text = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2) + "\n"
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"the SBOM is not CycloneDX: {wrong}")
    return text


def main():
    build, folder = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    version = version_of_qdq()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = [pathlib.Path(shutil.copy2(path, folder)) for path in files_of(build, version)]
    bill = folder / f"qdq-{version}.cdx.json"
    bill.write_text(text_of(bill_of_materials(files, version)))
    sums = "".join(f"{sha256(path)}  {path.name}\n" for path in sorted([*files, bill]))
    (folder / "SHA256SUMS").write_text(sums)
    print(sums, end="")


main()
