# What `cmake --install` leaves behind, in three components: runtime (the shared library), development (headers, static
# library, packages of CMake and pkg-config) and tools (the command line). QdqPackage.cmake makes archives of them.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/qdq)

# A build of some targets, as make demo's, lacks what is to be installed: it says so before anything is.
# qdq_install_wants(<component> <target>...)
function(qdq_install_wants component)
  foreach(target ${ARGN})
    install(CODE "
      if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
        message(FATAL_ERROR \"$<TARGET_FILE_NAME:${target}> is not built: \"
                            \"make build, or cmake --build ${PROJECT_BINARY_DIR}, comes before cmake --install\")
      endif()" COMPONENT ${component})
  endforeach()
endfunction()
qdq_install_wants(runtime qdq_shared)
qdq_install_wants(development qdq qdq_compat_aclnn)
if(QDQ_BUILD_CLI)
  qdq_install_wants(tools qdq_cli)
endif()

install(TARGETS qdq qdq_shared qdq_cpp qdq_compat_aclnn EXPORT qdq-targets
  ARCHIVE COMPONENT development
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
install(DIRECTORY runtime/include/qdq ${QDQ_GENERATED_INCLUDES}/qdq TYPE INCLUDE COMPONENT development
  FILES_MATCHING PATTERN *.h PATTERN *.hpp)
install(FILES cmake/QdqLinkKernels.cmake ${PROJECT_BINARY_DIR}/runtime/qdq-kernels.cmake
  DESTINATION ${package_folder} COMPONENT development)
install(EXPORT qdq-targets NAMESPACE qdq:: DESTINATION ${package_folder} COMPONENT development)

# It finds the rest from where it is: what was installed may be moved.
configure_package_config_file(cmake/qdq-config.cmake.in ${PROJECT_BINARY_DIR}/qdq-config.cmake
  INSTALL_DESTINATION ${package_folder} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/qdq-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/qdq-config.cmake ${PROJECT_BINARY_DIR}/qdq-config-version.cmake
  DESTINATION ${package_folder} COMPONENT development)
# Where files go is known when they are installed: by --prefix, or below the DESTDIR of who packs them.
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(QDQ_PREFIX "@CMAKE_INSTALL_PREFIX@")
if(QDQ_RELOCATABLE)
  file(RELATIVE_PATH up /${pkgconfig_folder} /)
  string(REGEX REPLACE "/$" "" QDQ_PREFIX "\${pcfiledir}/${up}")
endif()
configure_file(cmake/qdq.pc.in ${PROJECT_BINARY_DIR}/qdq.pc.in @ONLY)
install(CODE "
  set(file \"\${CMAKE_INSTALL_PREFIX}/${pkgconfig_folder}/qdq.pc\")
  configure_file(\"${PROJECT_BINARY_DIR}/qdq.pc.in\" \"\$ENV{DESTDIR}\${file}\" @ONLY)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")" COMPONENT development)

# Each kernel of this build, with the digest of its results where docs/conformance.md publishes one, and the file of what takes
# its place if that is written by hand.
function(qdq_write_kernel_digests file)
  file(STRINGS docs/conformance_digests.txt published REGEX "^[a-z]")
  foreach(line ${published})
    string(REPLACE " " ";" line "${line}")
    list(GET line 0 kernel)
    list(GET line 1 digest_${kernel})
  endforeach()
  set(text)
  foreach(object ${QDQ_KERNEL_OBJECTS})
    cmake_path(GET object STEM name)
    cmake_path(GET object PARENT_PATH folder)
    cmake_path(GET folder FILENAME target)
    if(NOT name MATCHES "_nontemporal$" AND name MATCHES "^qdq_${target}_(.*)$")
      get_property(handwritten GLOBAL PROPERTY QDQ_HANDWRITTEN_FILE_OF_${name})
      string(STRIP "${target} ${CMAKE_MATCH_1} ${digest_${CMAKE_MATCH_1}} ${handwritten}" row)
      string(APPEND text "${row}\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()
qdq_write_kernel_digests(${PROJECT_BINARY_DIR}/kernels.txt)
install(FILES ${PROJECT_BINARY_DIR}/kernels.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# qdq_install_license(<component> <what> <file>): that of something inside the component's binaries beside qdq. The wheel
# takes it from the build's licenses/.
function(qdq_install_license component what file)
  if(EXISTS ${file})
    configure_file(${file} ${PROJECT_BINARY_DIR}/licenses/${what}.txt COPYONLY)
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME ${what}.txt COMPONENT ${component})
  else()
    message(STATUS "What is installed lacks the license of ${what}: there is no ${file}")
  endif()
endfunction()
cmake_path(APPEND HalideHelpers_DIR ../../../share/doc/Halide/LICENSE.txt OUTPUT_VARIABLE halide_license)
qdq_install_license(runtime Halide ${halide_license})
if(QDQ_DEVICE_TARGETS)
  qdq_install_license(runtime LZMA /usr/share/doc/lzma-dev/copyright)
endif()

if(QDQ_BUILD_CLI)
  set_target_properties(qdq_cli PROPERTIES EXPORT_NAME cli)
  install(TARGETS qdq_cli EXPORT qdq-tools-targets RUNTIME COMPONENT tools)
  install(EXPORT qdq-tools-targets NAMESPACE qdq:: DESTINATION ${package_folder} COMPONENT tools)
  set(libraries CLI11=libcli11-dev nlohmann_json=nlohmann-json3-dev protozero=libprotozero-dev xxHash=libxxhash-dev)
  if(QDQ_YAML_CPP)
    list(APPEND libraries yaml-cpp=libyaml-cpp-dev)
  endif()
  foreach(library IN LISTS libraries)
    string(REPLACE = ";" names ${library})
    list(GET names 0 what)
    list(GET names 1 package)
    qdq_install_license(tools ${what} /usr/share/doc/${package}/copyright)
  endforeach()
  set(generated ${PROJECT_BINARY_DIR}/generated)
  # qdq_install_generated(<what> <folder> <name>): what `qdq generate <what>` prints.
  function(qdq_install_generated what folder name)
    set(file ${generated}/${what}/${name})
    file(MAKE_DIRECTORY ${generated}/${what})
    add_custom_command(OUTPUT ${file} COMMAND qdq_cli generate ${what} > ${file} DEPENDS qdq_cli)
    set_property(GLOBAL APPEND PROPERTY QDQ_GENERATED_FILES ${file})
    install(FILES ${file} DESTINATION ${folder} COMPONENT tools)
  endfunction()
  qdq_install_generated(man ${CMAKE_INSTALL_MANDIR}/man1 qdq.1)
  qdq_install_generated(bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions qdq)
  qdq_install_generated(zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions _qdq)
  qdq_install_generated(fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d qdq.fish)
  get_property(files GLOBAL PROPERTY QDQ_GENERATED_FILES)
  add_custom_target(qdq_generated_files ALL DEPENDS ${files})
endif()
