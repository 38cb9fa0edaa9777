# A port of this checkout: vcpkg install qdq --overlay-ports=packaging/vcpkg
# In vcpkg's registry SOURCE_PATH is what vcpkg_from_github() gives.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    "-DHalide_DIR=${CURRENT_HOST_INSTALLED_DIR}/share/halide"
    "-DHalideHelpers_DIR=${CURRENT_HOST_INSTALLED_DIR}/share/HalideHelpers"
    -DQDQ_BUILD_CLI=OFF
    -DQDQ_BUILD_EXAMPLES=OFF
    -DQDQ_BUILD_TESTS=OFF
    -DQDQ_BUILD_BENCH=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/qdq)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
