# From kernels/manifest.cmake to objects, the dispatch table and the table of element types.
include(QdqCubins)
include(QdqLinkKernels)
include(QdqTuned)

# Keeps a row's fields as properties <prefix>_<field>; a field that is not given is the default of its name.
function(qdq_keep_fields prefix)
  foreach(field ${ARGN})
    set_property(GLOBAL PROPERTY ${prefix}_${field} "${arg_${field}}")
  endforeach()
endfunction()

# Records a target; see kernels/manifest.cmake.
function(qdq_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROCESSOR;HALIDE;SCHEDULE;NONTEMPORAL" "INSTRUCTIONS;NEEDS")
  if(NOT arg_SCHEDULE)
    set(arg_SCHEDULE ${name})
  endif()
  qdq_keep_fields(QDQ_TARGET_${name} PROCESSOR HALIDE SCHEDULE NONTEMPORAL INSTRUCTIONS NEEDS)
  set_property(GLOBAL APPEND PROPERTY QDQ_KNOWN_TARGETS ${name})
endfunction()

# Records a device's target; see kernels/manifest.cmake.
function(qdq_device_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HALIDE;DEVICE" "INSTRUCTIONS")
  set(arg_SCHEDULE ${name})
  qdq_keep_fields(QDQ_TARGET_${name} HALIDE DEVICE SCHEDULE INSTRUCTIONS)
  set_property(GLOBAL APPEND PROPERTY QDQ_KNOWN_DEVICE_TARGETS ${name})
endfunction()

# Records what is written by hand; see kernels/manifest.cmake.
function(qdq_handwritten file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "TARGETS;ROWS;FORMS;BLOCKS;NONTEMPORAL;OPTIONS")
  get_property(known GLOBAL PROPERTY QDQ_HANDWRITTEN)
  list(LENGTH known number)
  math(EXPR number "${number} + 1")
  set(arg_FILE ${file})
  qdq_keep_fields(QDQ_HANDWRITTEN_${number} FILE TARGETS ROWS FORMS BLOCKS NONTEMPORAL OPTIONS)
  set_property(GLOBAL APPEND PROPERTY QDQ_HANDWRITTEN ${number})
endfunction()

# Records rows with kernels whose stores bypass the caches; see kernels/manifest.cmake.
function(qdq_nontemporal)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "TARGETS;ROWS")
  foreach(target ${arg_TARGETS})
    set_property(GLOBAL APPEND PROPERTY QDQ_NONTEMPORAL_ROWS_${target} ${arg_ROWS})
  endforeach()
endfunction()

# Records the kernel by hand of stochastic rounding; see kernels/manifest.cmake.
function(qdq_handwritten_stochastic_row file)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "TARGETS;OPTIONS")
  set(arg_FILE ${file})
  foreach(target ${arg_TARGETS})
    qdq_keep_fields(QDQ_STOCHASTIC_ROW_${target} FILE NAME OPTIONS)
  endforeach()
endfunction()

# The schedules that a list of targets uses, each once.
function(qdq_schedules_of targets out)
  get_property(names GLOBAL PROPERTY ${targets})
  set(schedules)
  foreach(name ${names})
    get_property(schedule GLOBAL PROPERTY QDQ_TARGET_${name}_SCHEDULE)
    list(APPEND schedules ${schedule})
  endforeach()
  list(REMOVE_DUPLICATES schedules)
  set(${out} ${schedules} PARENT_SCOPE)
endfunction()

# Records an element type; see kernels/manifest.cmake.
function(qdq_type name dtype bits numbers)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "" "ROLES;BLOCKS")
  set(layout {})
  if(numbers STREQUAL FLOAT)
    list(TRANSFORM arg_UNPARSED_ARGUMENTS REPLACE "^([a-z].*)$" "specials::\\1")
    list(JOIN arg_UNPARSED_ARGUMENTS ", " layout)
    set(layout "{${layout}}")
  endif()
  set(kind_SIGNED signed_integers)
  set(kind_UNSIGNED unsigned_integers)
  set(kind_FLOAT floats)
  set(roles)
  foreach(role floats stored scale zero_point host)
    if(role IN_LIST arg_ROLES)
      list(APPEND roles ".${role} = true")
      set_property(GLOBAL APPEND PROPERTY QDQ_TYPES_OF_ROLE_${role} ${name})
    endif()
  endforeach()
  list(JOIN roles ", " roles)
  list(JOIN arg_BLOCKS " | " blocks)
  if(NOT arg_BLOCKS)
    set(arg_BLOCKS 0)
  endif()
  list(GET arg_BLOCKS 0 shortest_block)
  list(GET arg_BLOCKS -1 longest_block)
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_DTYPE ${dtype})
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_BITS ${bits})
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_NUMBERS ${numbers})
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_BLOCKS "${blocks}")
  set_property(GLOBAL APPEND_STRING PROPERTY QDQ_ELEMENT_TYPES
               "    {\"${name}\", ${dtype}, ${bits}, numbers::${kind_${numbers}}, ${layout}, {${roles}}, ${shortest_block}, ${longest_block}},\n")
endfunction()

# The targets for a processor, in the manifest's order.
function(qdq_targets_of processor out)
  get_property(known GLOBAL PROPERTY QDQ_KNOWN_TARGETS)
  set(targets)
  foreach(name ${known})
    get_property(own GLOBAL PROPERTY QDQ_TARGET_${name}_PROCESSOR)
    if(own STREQUAL processor)
      list(APPEND targets ${name})
    endif()
  endforeach()
  if(NOT targets)
    message(FATAL_ERROR "QDQ_TARGETS: kernels/manifest.cmake has no target for ${processor}")
  endif()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# The best target for this machine's processor, by the dispatcher's own detection, and the one that needs least of it.
function(qdq_native_targets out)
  if(CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "QDQ_TARGETS: native is of the machine that builds, and ${CMAKE_CXX_COMPILER} compiles for another")
  endif()
  qdq_targets_of(${CMAKE_SYSTEM_PROCESSOR} targets)
  set(asked)
  foreach(target ${targets})
    get_property(needs GLOBAL PROPERTY QDQ_TARGET_${target}_NEEDS)
    list(TRANSFORM needs PREPEND qdq_)
    list(JOIN needs " | " needs)
    string(APPEND asked "    if (!qdq::runtime::cpu_problem(${needs})) std::puts(\"${target}\");\n")
  endforeach()
  set(source ${PROJECT_BINARY_DIR}/generators/native_targets.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT "// Generated from kernels/manifest.cmake: prints what can run here.
#include \"targets/cpu_features.h\"

#include <cstdio>

int main() {
${asked}}
")
  set(folders ${PROJECT_SOURCE_DIR}/runtime/src ${PROJECT_SOURCE_DIR}/runtime/include ${QDQ_GENERATED_INCLUDES})
  try_run(ran compiled
    SOURCES ${source} ${PROJECT_SOURCE_DIR}/runtime/src/targets/cpu_features_${CMAKE_SYSTEM_PROCESSOR}.cpp
    NO_CACHE CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${folders}" CXX_STANDARD 20
    COMPILE_OUTPUT_VARIABLE messages RUN_OUTPUT_VARIABLE usable)
  string(REGEX MATCHALL "[^\n]+" usable "${usable}")
  if(NOT compiled OR NOT usable)
    message(FATAL_ERROR "QDQ_TARGETS: no target can run on this machine: ${targets}\n${messages}")
  endif()
  list(GET usable 0 best)
  list(GET usable -1 plainest)
  set(native ${best} ${plainest})
  list(REMOVE_DUPLICATES native)
  set(${out} ${native} PARENT_SCOPE)
endfunction()

# Stops where the manifest has no target of a name for QDQ_TARGETS or QDQ_DEVICE_TARGETS.
function(qdq_require_known option name)
  string(REPLACE QDQ_ QDQ_KNOWN_ property ${option})
  get_property(known GLOBAL PROPERTY ${property})
  if(NOT name IN_LIST known)
    list(JOIN known ", " names)
    message(FATAL_ERROR "${option}: there is no target \"${name}\"; kernels/manifest.cmake has ${names}")
  endif()
endfunction()

# Stops where a target is not in the manifest, or is for another processor than the compiler's.
function(qdq_check_target name)
  qdq_require_known(QDQ_TARGETS ${name})
  get_property(processor GLOBAL PROPERTY QDQ_TARGET_${name}_PROCESSOR)
  if(NOT processor STREQUAL CMAKE_SYSTEM_PROCESSOR)
    message(FATAL_ERROR "QDQ_TARGETS: target \"${name}\" is for ${processor}, and ${CMAKE_CXX_COMPILER} compiles for "
                        "${CMAKE_SYSTEM_PROCESSOR}; see the cross presets")
  endif()
endfunction()

# The processor and operating system in the Halide targets of this build.
function(qdq_host out)
  list(GET QDQ_TARGETS 0 target)
  get_property(halide GLOBAL PROPERTY QDQ_TARGET_${target}_HALIDE)
  string(REGEX MATCH "^[^-]+-[0-9]+-[a-z]+(-rvv-vector_bits_[0-9]+)?" host ${halide})
  set(${out} ${host} PARENT_SCOPE)
endfunction()

# The Halide target string of a qdq target. A device's kernels keep the assertions that report what the device does not do
# (generators/device_code.h says which go).
function(qdq_halide_target name out)
  get_property(halide GLOBAL PROPERTY QDQ_TARGET_${name}_HALIDE)
  get_property(devices GLOBAL PROPERTY QDQ_KNOWN_DEVICE_TARGETS)
  if(name IN_LIST devices)
    qdq_host(host)
    set(halide "${host}-${halide}-large_buffers-user_context-no_bounds_query")
  elseif(NOT QDQ_KERNEL_ASSERTS)
    string(APPEND halide "-no_asserts-no_bounds_query")
  endif()
  set(${out} "${halide}-no_runtime" PARENT_SCOPE)
endfunction()

# qdq_add_objects(<target> <kind> OBJECTS <variable> NAMES <kernel>... EACH <params of one>... PARAMS <params of all>...
#                 [NONTEMPORAL <kernel>...])
# One object and header for each kernel, of symbol qdq_<target>_<kernel>, by the generator of its kind (of devices'
# kernels: GENERATOR). EACH holds as many entries as NAMES, of params with | between them. Kernels among NONTEMPORAL have another
# object, of symbol qdq_<target>_<kernel>_nontemporal.
function(qdq_add_objects target kind)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "OBJECTS;GENERATOR" "NAMES;PARAMS;EACH;NONTEMPORAL")
  if(NOT arg_GENERATOR)
    set(arg_GENERATOR ${kind})
  endif()
  qdq_halide_target(${target} halide_target)
  get_property(schedule GLOBAL PROPERTY QDQ_TARGET_${target}_SCHEDULE)
  separate_arguments(compiler_options UNIX_COMMAND "${CMAKE_CXX_COMPILER_ARG1}")  # zig has some
  set(folder ${QDQ_KERNEL_FOLDER}/${target})
  file(MAKE_DIRECTORY ${folder})
  set(own_objects)
  set(headers)
  set(commands)
  foreach(kernel param IN ZIP_LISTS arg_NAMES arg_EACH)
    set(name qdq_${target}_${kernel})
    string(REPLACE "|" ";" params "${param}")
    qdq_tuned(${target} ${kind} ${kernel} tuned)
    list(APPEND own_objects ${folder}/${name}.o)
    list(APPEND headers ${folder}/${name}.h)
    set(emitted object,c_header)
    set(nontemporal_commands)
    if(kernel IN_LIST arg_NONTEMPORAL)
      set(emitted ${emitted},assembly)
      set(source ${folder}/${name}_nontemporal.s)
      set(object ${folder}/${name}_nontemporal.o)
      list(APPEND own_objects ${object})
      set_property(GLOBAL APPEND PROPERTY QDQ_NONTEMPORAL_OBJECTS ${object})
      set(nontemporal_commands
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/nontemporal_stores.py ${folder}/${name}.s ${name} ${source}
        COMMAND ${CMAKE_CXX_COMPILER} ${compiler_options} -c ${source} -o ${object})
    endif()
    list(APPEND commands COMMAND ${QDQ_GENERATORS} -g ${arg_GENERATOR} -f ${name} -n ${name} -e ${emitted} -o ${folder}
         target=${halide_target} schedule=${schedule} ${arg_PARAMS} ${params} ${tuned} ${nontemporal_commands})
    string(APPEND QDQ_KERNEL_INCLUDES "#include \"${target}/${name}.h\"\n")
    qdq_list_kernel(${target} ${kind} ${kernel} ${arg_GENERATOR} ${folder}/${name}.o
                    "target=${halide_target};schedule=${schedule};${arg_PARAMS};${params}" "${tuned}")
  endforeach()
  list(GET arg_NAMES 0 first)
  set(depends ${QDQ_GENERATORS_DEPENDS})
  if(arg_NONTEMPORAL)
    list(APPEND depends ${PROJECT_SOURCE_DIR}/cmake/nontemporal_stores.py)
  endif()
  add_custom_command(OUTPUT ${own_objects} ${headers} ${commands} DEPENDS ${depends}
                     COMMENT "Compiling kernels ${target} ${first}..." VERBATIM)
  set(${arg_OBJECTS} ${${arg_OBJECTS}} ${own_objects} PARENT_SCOPE)
  set(QDQ_KERNEL_INCLUDES "${QDQ_KERNEL_INCLUDES}" PARENT_SCOPE)
endfunction()

# Appends a kernel to the list that tools read: how it is compiled, apart from its tuned parameters, and those. Of a pair of
# types the list has the parameters of the dispatcher, of the kind "dispatch".
function(qdq_list_kernel target kind kernel generator object arguments tuned)
  list(REMOVE_ITEM arguments "")
  list(JOIN arguments "\", \"" arguments)
  list(TRANSFORM tuned REPLACE "(.+)=(.+)" "\"\\1\": \"\\2\"")
  list(JOIN tuned ", " tuned)
  set_property(GLOBAL APPEND PROPERTY QDQ_KERNEL_LIST
    "{\"name\": \"${kernel}\", \"target\": \"${target}\", \"kind\": \"${kind}\", \"generator\": \"${generator}\",
      \"object\": \"${object}\", \"arguments\": [\"${arguments}\"], \"tuned\": {${tuned}}}")
endfunction()

# Writes that list, and the parameters.
function(qdq_write_kernel_list file)
  get_property(kernels GLOBAL PROPERTY QDQ_KERNEL_LIST)
  list(JOIN kernels ",\n    " kernels)
  qdq_parameters_as_json(parameters)
  get_property(halide_runtime GLOBAL PROPERTY QDQ_RUNTIME_OBJECT)
  get_property(nontemporal GLOBAL PROPERTY QDQ_NONTEMPORAL_OBJECTS)
  set(runtime $<TARGET_OBJECTS:qdq_objects> ${halide_runtime} ${nontemporal})
  get_property(handwritten GLOBAL PROPERTY QDQ_HANDWRITTEN_SOURCES)
  if(handwritten)
    list(APPEND runtime $<TARGET_OBJECTS:qdq_handwritten>)
  endif()
  file(GENERATE OUTPUT ${file} CONTENT "{
  \"generators\": \"$<TARGET_FILE:qdq_generators>\",
  \"compiler\": \"${CMAKE_CXX_COMPILER}\",
  \"runtime\": [\"$<JOIN:${runtime},\", \">\"],
  \"parameters\": {
    ${parameters}
  },
  \"kernels\": [
    ${kernels}
  ]
}
")
endfunction()

# The abilities of a target as a parameter of generators; nothing for a target that has none.
function(qdq_instructions target out)
  get_property(instructions GLOBAL PROPERTY QDQ_TARGET_${target}_INSTRUCTIONS)
  if(instructions)
    list(JOIN instructions "," instructions)
    set(instructions instructions=${instructions})
  endif()
  set(${out} ${instructions} PARENT_SCOPE)
endfunction()

# The name of a pair's kernels: quantize_f32_i8, dequantize_i8_f32.
function(qdq_pair_name op float stored out)
  if(op STREQUAL quantize)
    set(${out} ${op}_${float}_${stored} PARENT_SCOPE)
  else()
    set(${out} ${op}_${stored}_${float} PARENT_SCOPE)
  endif()
endfunction()

# Whether one of the manifest's globs matches a row.
function(qdq_matches_row row globs out)
  list(TRANSFORM globs REPLACE "\\*" "[a-z0-9_]*")
  list(TRANSFORM globs REPLACE "\\?" "[a-z0-9]")
  list(JOIN globs "|" matching)
  set(${out} OFF PARENT_SCOPE)
  if(globs AND row MATCHES "^(${matching})$")
    set(${out} ON PARENT_SCOPE)
  endif()
endfunction()

# Which of the manifest's qdq_handwritten is for a row on a target: its number, or nothing.
function(qdq_handwritten_for target row out)
  get_property(known GLOBAL PROPERTY QDQ_HANDWRITTEN)
  set(found)
  foreach(number ${known})
    get_property(targets GLOBAL PROPERTY QDQ_HANDWRITTEN_${number}_TARGETS)
    get_property(globs GLOBAL PROPERTY QDQ_HANDWRITTEN_${number}_ROWS)
    qdq_matches_row(${row} "${globs}" matches)
    if(target IN_LIST targets AND matches)
      list(APPEND found ${number})
    endif()
  endforeach()
  list(LENGTH found count)
  if(count GREATER 1)
    message(FATAL_ERROR "kernels/manifest.cmake: ${row} for ${target} is written by hand twice")
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# The forms of which a row has generated kernels besides whose stores bypass the caches. Those with assertions store elsewhere than
# to y, too: there are none of them.
function(qdq_nontemporal_forms target row out)
  get_property(globs GLOBAL PROPERTY QDQ_NONTEMPORAL_ROWS_${target})
  qdq_matches_row(${row} "${globs}" matches)
  set(forms)
  if(matches AND NOT QDQ_KERNEL_ASSERTS)
    qdq_handwritten_for(${target} ${row} number)
    get_property(by_hand GLOBAL PROPERTY QDQ_HANDWRITTEN_${number}_FORMS)
    set(forms ${QDQ_FORMS})
    list(REMOVE_ITEM forms "" ${by_hand})
  endif()
  set(${out} ${forms} PARENT_SCOPE)
endfunction()

# What a row's table holds: the kernels of QDQ_FORMS; those whose stores bypass the caches, or 0; and the blocks that the block
# form takes. Writes the source of those that are written by hand.
function(qdq_kernels_of_row target row kernels_out nontemporal_out blocks_out)
  qdq_types_of_row(${row} float stored)
  get_property(blocks GLOBAL PROPERTY QDQ_TYPE_${stored}_BLOCKS)
  qdq_handwritten_for(${target} ${row} number)
  foreach(field FILE FORMS BLOCKS NONTEMPORAL OPTIONS)
    get_property(${field} GLOBAL PROPERTY QDQ_HANDWRITTEN_${number}_${field})
  endforeach()
  if(BLOCKS)
    list(JOIN BLOCKS " | " blocks)
  endif()
  qdq_nontemporal_forms(${target} ${row} nontemporal_forms)
  set(kernels)
  set(bypassing)
  set(text "// Generated from kernels/manifest.cmake.\n#include \"handwritten/${FILE}\"\n")
  string(REGEX MATCH "^[a-z]+" op ${row})
  string(TOUPPER ${op} macro)
  get_property(float_dtype GLOBAL PROPERTY QDQ_TYPE_${float}_DTYPE)
  get_property(stored_dtype GLOBAL PROPERTY QDQ_TYPE_${stored}_DTYPE)
  foreach(form ${QDQ_FORMS})
    set(kernel qdq_${target}_${row}_${form})
    set(own ${kernel})
    set(nontemporal 0)
    set(entry " \\\n    apply(${target}, ${row}, ${form}, ${op}, ${float_dtype}, ${stored_dtype}, ${blocks}, \"${FILE}\")")
    if(number AND form IN_LIST FORMS)
      set(own ${kernel}_by_hand)
      set(arguments "${kernel}, ${float_dtype}, ${stored_dtype}, qdq::kernels::form::${form}")
      string(APPEND text "#include \"${target}/${kernel}.h\"\nQDQ_${macro}_BY_HAND(${own}, ${arguments}, false)\n")
      set_property(GLOBAL APPEND_STRING PROPERTY QDQ_HANDWRITTEN_LIST "${entry}")
      set_property(GLOBAL PROPERTY QDQ_HANDWRITTEN_FILE_OF_${kernel} kernels/handwritten/${FILE})
      if(form IN_LIST NONTEMPORAL)
        set(nontemporal ${kernel}_nontemporal)
        string(APPEND text "QDQ_${macro}_BY_HAND(${nontemporal}, ${arguments}, true)\n")
      endif()
    elseif(form IN_LIST nontemporal_forms)
      set(nontemporal ${kernel}_nontemporal)
    endif()
    if(nontemporal)
      set_property(GLOBAL APPEND_STRING PROPERTY QDQ_NONTEMPORAL_LIST "${entry}")
      set_property(GLOBAL APPEND PROPERTY QDQ_NONTEMPORAL_SYMBOLS ${nontemporal})
    endif()
    list(APPEND kernels ${own})
    list(APPEND bypassing ${nontemporal})
  endforeach()
  if(number)
    set(source ${QDQ_KERNEL_FOLDER}/${target}/qdq_${target}_${row}_by_hand.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "${text}" @ONLY)
    set_property(GLOBAL APPEND PROPERTY QDQ_HANDWRITTEN_SOURCES ${source})
    set_property(GLOBAL PROPERTY QDQ_OPTIONS_OF_${source} "${OPTIONS}")
  endif()
  list(JOIN kernels ", " kernels)
  list(JOIN bypassing ", " bypassing)
  set(${kernels_out} "${kernels}" PARENT_SCOPE)
  set(${nontemporal_out} "${bypassing}" PARENT_SCOPE)
  set(${blocks_out} "${blocks}" PARENT_SCOPE)
endfunction()

# The types that have a role, or those of them that an option names.
function(qdq_picked_types role option out)
  get_property(types GLOBAL PROPERTY QDQ_TYPES_OF_ROLE_${role})
  foreach(type ${${option}})
    if(NOT type IN_LIST types)
      list(JOIN types ", " names)
      message(FATAL_ERROR "${option}: there is no type \"${type}\"; kernels/manifest.cmake has ${names}")
    endif()
  endforeach()
  if(${option})
    list(JOIN ${option} "|" wanted)
    list(FILTER types INCLUDE REGEX "^(${wanted})$")
  endif()
  set(${out} ${types} PARENT_SCOPE)
endfunction()

# The rows to compile, in the manifest's order: those that QDQ_KERNELS, QDQ_FLOAT_TYPES and QDQ_STORED_TYPES leave.
function(qdq_picked_rows out)
  qdq_picked_types(floats QDQ_FLOAT_TYPES floats)
  qdq_picked_types(stored QDQ_STORED_TYPES stored_types)
  set(rows)
  foreach(op quantize dequantize)
    foreach(float ${floats})
      foreach(stored ${stored_types})
        qdq_pair_name(${op} ${float} ${stored} row)
        list(APPEND rows ${row})
      endforeach()
    endforeach()
  endforeach()
  if(QDQ_KERNELS)
    qdq_matching_rows(QDQ_KERNELS "${QDQ_KERNELS}" "${rows}" rows)
  endif()
  set(${out} ${rows} PARENT_SCOPE)
endfunction()

# Those of them that devices have kernels of.
function(qdq_device_rows rows out)
  get_property(host_types GLOBAL PROPERTY QDQ_TYPES_OF_ROLE_host)
  list(JOIN host_types "|" host_types)
  list(FILTER rows EXCLUDE REGEX "_(${host_types})(_|$)")
  set(${out} "${rows}" PARENT_SCOPE)
endfunction()

# The options by which rows are not compiled, as messages name them.
function(qdq_picking_options out)
  set(options)
  foreach(option QDQ_KERNELS QDQ_FLOAT_TYPES QDQ_STORED_TYPES)
    if(${option})
      list(APPEND options ${option})
    endif()
  endforeach()
  list(JOIN options " or " options)
  if(options)
    string(APPEND options " where qdq is built")
  endif()
  set(${out} "${options}" PARENT_SCOPE)
endfunction()

# The types of a row.
function(qdq_types_of_row row float_out stored_out)
  string(REGEX MATCH "^([a-z]+)_([a-z0-9]+)_([a-z0-9]+)$" parts ${row})
  if(CMAKE_MATCH_1 STREQUAL quantize)
    set(${float_out} ${CMAKE_MATCH_2} PARENT_SCOPE)
    set(${stored_out} ${CMAKE_MATCH_3} PARENT_SCOPE)
  else()
    set(${stored_out} ${CMAKE_MATCH_2} PARENT_SCOPE)
    set(${float_out} ${CMAKE_MATCH_3} PARENT_SCOPE)
  endif()
endfunction()

# The kernels that move a row's elements: transposes of its types' sizes, and other orders of nibbles.
function(qdq_moving_kernels row out)
  qdq_types_of_row(${row} float stored)
  set(kernels)
  foreach(type ${float} ${stored})
    get_property(bits GLOBAL PROPERTY QDQ_TYPE_${type}_BITS)
    if(bits IN_LIST QDQ_TRANSPOSED_BITS)
      list(APPEND kernels transpose_${bits})
    elseif(bits EQUAL 4)
      list(APPEND kernels ${QDQ_REPACKINGS})
    endif()
  endforeach()
  set(${out} ${kernels} PARENT_SCOPE)
endfunction()

# Writes a target's header of qdq/link: what tables of kernels are made of.
function(qdq_write_link_header target declarations rows)
  get_property(needs GLOBAL PROPERTY QDQ_TARGET_${target}_NEEDS)
  list(TRANSFORM needs PREPEND qdq_)
  list(JOIN needs " | " needs)
  if(NOT needs)
    set(needs 0)
  endif()
  set(primitives)
  foreach(field NONTEMPORAL DEVICE)
    get_property(name GLOBAL PROPERTY QDQ_TARGET_${target}_${field})
    string(TOLOWER ${field} kind)
    set(type_NONTEMPORAL nontemporal_stores)
    set(type_DEVICE device_backend)
    set(${kind} 0)
    if(name)
      set(${kind} &qdq_${name})
      string(APPEND declarations "extern const struct qdq_${type_${field}} qdq_${name};\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${QDQ_GENERATED_INCLUDES}/qdq/link/${target}.h @ONLY CONTENT "/* Generated from kernels/manifest.cmake. */
#ifndef QDQ_LINK_${target}_H
#define QDQ_LINK_${target}_H

#include \"qdq/link/kernels.h\"

#ifdef __cplusplus
extern \"C\" {
#endif

${declarations}
#ifdef __cplusplus
}
#endif

#define QDQ_NEEDS_${target} (${needs})
#define QDQ_TARGET_${target} \"${target}\", QDQ_NEEDS_${target}, ${nontemporal}, ${device}

${rows}
#endif
")
endfunction()

# Compiles the rows for one target, and what moves their elements; appends to the caller's QDQ_KERNEL_OBJECTS and
# QDQ_KERNEL_INCLUDES.
function(qdq_add_target_kernels target rows)
  qdq_instructions(${target} instructions)
  get_property(schedule GLOBAL PROPERTY QDQ_TARGET_${target}_SCHEDULE)
  set(objects)
  set(moving)
  set(declarations)
  set(definitions)
  foreach(row ${rows})
    qdq_types_of_row(${row} float stored)
    string(REGEX MATCH "^[a-z]+" op ${row})
    list(TRANSFORM QDQ_FORMS PREPEND ${row}_ OUTPUT_VARIABLE names)
    list(TRANSFORM QDQ_FORMS PREPEND form= OUTPUT_VARIABLE forms)
    qdq_nontemporal_forms(${target} ${row} nontemporal_forms)
    list(TRANSFORM nontemporal_forms PREPEND ${row}_)
    qdq_add_objects(${target} ${op} OBJECTS objects NAMES ${names} EACH ${forms}
                    PARAMS float=${float} stored=${stored} ${instructions} NONTEMPORAL ${nontemporal_forms})
    qdq_kernels_of_row(${target} ${row} functions nontemporal blocks)
    get_property(float_dtype GLOBAL PROPERTY QDQ_TYPE_${float}_DTYPE)
    get_property(stored_dtype GLOBAL PROPERTY QDQ_TYPE_${stored}_DTYPE)
    qdq_tuned(${target} dispatch ${row} tuned)
    qdq_list_kernel(${target} dispatch ${row} "" "" "schedule=${schedule}" "${tuned}")
    list(TRANSFORM tuned REPLACE "^.*=" "")
    list(JOIN tuned ", " tuned)
    string(REGEX MATCHALL "[a-z][^ ,]*" declared "${functions} ${nontemporal}")
    list(JOIN declared ", " declared)
    string(APPEND declarations "extern qdq_${op}_kernel ${declared};\n")
    string(APPEND definitions "#define QDQ_ROW_${target}_${row} \\
    { ${float_dtype}, ${stored_dtype}, {${functions}}, {${nontemporal}}, ${blocks}, {${tuned}} }\n")
    qdq_moving_kernels(${row} own_moving)
    list(APPEND moving ${own_moving})
  endforeach()
  list(REMOVE_DUPLICATES moving)

  foreach(kernel ${moving})
    set(kind repack)
    set(param change=${kernel})
    if(kernel MATCHES "^transpose_([0-9]+)$")
      set(kind transpose)
      set(param bits=${CMAKE_MATCH_1})
    endif()
    qdq_add_objects(${target} ${kind} OBJECTS objects NAMES ${kernel} EACH ${param})
    string(APPEND declarations "extern qdq_bytes_kernel qdq_${target}_${kernel};\n")
  endforeach()
  qdq_add_reductions(${target} "${rows}")
  qdq_add_measurements(${target} "${rows}")
  qdq_add_stochastic(${target} "${rows}")
  qdq_add_blocks(${target} "${rows}")
  qdq_write_link_header(${target} "${declarations}" "${definitions}")
  set(QDQ_KERNEL_OBJECTS ${QDQ_KERNEL_OBJECTS} ${objects} PARENT_SCOPE)
  set(QDQ_KERNEL_INCLUDES "${QDQ_KERNEL_INCLUDES}" PARENT_SCOPE)
endfunction()

# The types of floats that the rows quantize.
function(qdq_quantized_floats rows out)
  set(floats)
  foreach(row ${rows})
    qdq_types_of_row(${row} float stored)
    if(row MATCHES "^quantize_")
      list(APPEND floats ${float})
    endif()
  endforeach()
  set(${out} ${floats} PARENT_SCOPE)
endfunction()

# The bits of those.
function(qdq_quantized_bits rows out)
  qdq_quantized_floats("${rows}" floats)
  set(sizes)
  foreach(float ${floats})
    get_property(bits GLOBAL PROPERTY QDQ_TYPE_${float}_BITS)
    list(APPEND sizes ${bits})
  endforeach()
  set(${out} ${sizes} PARENT_SCOPE)
endfunction()

# Adds a target's entry to a table of qdq_write_own_table, which needs the caller's QDQ_KERNEL_INCLUDES.
function(qdq_add_own_entry table entry)
  set_property(GLOBAL APPEND_STRING PROPERTY QDQ_${table}_ENTRIES "    ${entry},\n")
  set_property(GLOBAL APPEND_STRING PROPERTY QDQ_${table}_INCLUDES "${QDQ_KERNEL_INCLUDES}")
endfunction()

# Writes a table of kernels that are not part of a target: in a source of its own, so that programs which make no use of them
# link none. The header targets/<header>_table.h declares it.
function(qdq_write_own_table table header file)
  get_property(includes GLOBAL PROPERTY QDQ_${table}_INCLUDES)
  get_property(entries GLOBAL PROPERTY QDQ_${table}_ENTRIES)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "// Generated from kernels/manifest.cmake.
${includes}#include \"targets/${header}_table.h\"

namespace qdq::runtime {

const ${table} linked_${table}[] = {
${entries}};

}  // namespace qdq::runtime
")
endfunction()

# Compiles what reduces those elements; appends to the caller's `objects`, and to the table `reductions`.
function(qdq_add_reductions target rows)
  qdq_quantized_bits("${rows}" sizes)
  set(own_entries)
  set(QDQ_KERNEL_INCLUDES)
  foreach(bits 16 32)
    set(of_numbers)
    foreach(numbers ${QDQ_REDUCED_NUMBERS})
      if(NOT bits IN_LIST sizes)
        list(APPEND of_numbers "{0, 0, 0, 0, 0}")
        continue()
      endif()
      set(prefix reduce_${bits}_${numbers}_)
      list(TRANSFORM QDQ_REDUCTIONS PREPEND ${prefix} OUTPUT_VARIABLE names)
      list(TRANSFORM QDQ_REDUCTIONS PREPEND form= OUTPUT_VARIABLE forms)
      qdq_add_objects(${target} reduce OBJECTS objects NAMES ${names} EACH ${forms} PARAMS bits=${bits} numbers=${numbers})
      list(TRANSFORM names PREPEND qdq_${target}_)
      foreach(form row column)
        qdq_tuned(${target} reduce ${prefix}${form} tuned)
        string(REGEX MATCH "reduced_elements=([0-9]+)" found "${tuned}")
        list(APPEND names ${CMAKE_MATCH_1})
      endforeach()
      list(JOIN names ", " fields)
      list(APPEND of_numbers "{${fields}}")
    endforeach()
    list(JOIN of_numbers ", " fields)
    list(APPEND own_entries "{${fields}}")
  endforeach()
  list(JOIN own_entries ", " fields)
  qdq_add_own_entry(reductions "{\"${target}\", {${fields}}}")
  set(objects ${objects} PARENT_SCOPE)
endfunction()

# Compiles what measures codes of them; appends to the caller's `objects`, and to the table `measurements`.
function(qdq_add_measurements target rows)
  qdq_instructions(${target} instructions)
  qdq_quantized_floats("${rows}" floats)
  set(own_entries)
  set(QDQ_KERNEL_INCLUDES)
  foreach(float f32 f16 bf16)
    if(NOT float IN_LIST floats)
      list(APPEND own_entries "{0, 0}")
      continue()
    endif()
    list(TRANSFORM QDQ_MEASUREMENTS PREPEND measure_${float}_ OUTPUT_VARIABLE names)
    list(TRANSFORM QDQ_MEASUREMENTS PREPEND form= OUTPUT_VARIABLE forms)
    qdq_add_objects(${target} measure OBJECTS objects NAMES ${names} EACH ${forms} PARAMS float=${float} ${instructions})
    list(TRANSFORM names PREPEND qdq_${target}_)
    list(JOIN names ", " fields)
    list(APPEND own_entries "{${fields}}")
  endforeach()
  list(JOIN own_entries ", " fields)
  qdq_add_own_entry(measurements "{\"${target}\", {${fields}}}")
  set(objects ${objects} PARENT_SCOPE)
endfunction()

# The name of the kernel by hand of stochastic rounding that is for a target, or 0. Its source, and declaration, are those of all
# targets that have it.
function(qdq_stochastic_row_of target out declaration_out)
  foreach(field FILE NAME OPTIONS)
    get_property(${field} GLOBAL PROPERTY QDQ_STOCHASTIC_ROW_${target}_${field})
  endforeach()
  if(NOT FILE)
    set(${out} 0 PARENT_SCOPE)
    set(${declaration_out} "" PARENT_SCOPE)
    return()
  endif()
  set(source ${PROJECT_SOURCE_DIR}/kernels/handwritten/${FILE})
  get_property(known GLOBAL PROPERTY QDQ_HANDWRITTEN_SOURCES)
  if(NOT source IN_LIST known)
    set_property(GLOBAL APPEND PROPERTY QDQ_HANDWRITTEN_SOURCES ${source})
    set_property(GLOBAL PROPERTY QDQ_OPTIONS_OF_${source} "${OPTIONS}")
  endif()
  set(${out} ${NAME} PARENT_SCOPE)
  set(${declaration_out} "extern \"C\" qdq::kernels::stochastic_row_kernel ${NAME};\n" PARENT_SCOPE)
endfunction()

# Compiles what rounds stochastically what the rows quantize; appends to the caller's `objects`, and to the table
# `stochastic_kernels`.
function(qdq_add_stochastic target rows)
  qdq_instructions(${target} instructions)
  qdq_quantized_floats("${rows}" floats)
  set(QDQ_KERNEL_INCLUDES)
  set(quotients)
  foreach(float f32 f16 bf16)
    set(row quotient_${float})
    list(TRANSFORM QDQ_FORMS PREPEND ${row}_ OUTPUT_VARIABLE names)
    list(TRANSFORM QDQ_FORMS PREPEND form= OUTPUT_VARIABLE forms)
    if(NOT float IN_LIST floats)
      list(APPEND quotients "{}")
      continue()
    endif()
    qdq_add_objects(${target} quantize OBJECTS objects NAMES ${names} EACH ${forms}
                    PARAMS float=${float} stored=f32 ${instructions})
    qdq_tuned(${target} dispatch ${row} tuned)
    list(TRANSFORM tuned REPLACE "^.*=" "")
    list(JOIN tuned ", " tuned)
    list(TRANSFORM names PREPEND qdq_${target}_)
    list(JOIN names ", " functions)
    get_property(dtype GLOBAL PROPERTY QDQ_TYPE_${float}_DTYPE)
    get_property(blocks GLOBAL PROPERTY QDQ_TYPE_f32_BLOCKS)
    list(APPEND quotients "{${dtype}, QDQ_F32, {${functions}}, {}, ${blocks}, {${tuned}}}")
  endforeach()
  qdq_add_objects(${target} random OBJECTS objects NAMES random EACH "")
  list(TRANSFORM QDQ_GRIDS PREPEND stochastic_ OUTPUT_VARIABLE names)
  list(TRANSFORM QDQ_GRIDS PREPEND grid= OUTPUT_VARIABLE grids)
  qdq_add_objects(${target} stochastic OBJECTS objects NAMES ${names} EACH ${grids} PARAMS ${instructions})
  list(TRANSFORM names PREPEND qdq_${target}_)
  list(JOIN names ", " grids)
  list(JOIN quotients ",\n      " quotients)
  qdq_stochastic_row_of(${target} row declaration)
  if(declaration)
    string(APPEND QDQ_KERNEL_INCLUDES "#include \"stochastic_row.h\"\n${declaration}")
  endif()
  qdq_add_own_entry(stochastic_kernels "{\"${target}\", qdq_${target}_random, {${grids}},\n     {${quotients}}, ${row}}")
  set(objects ${objects} PARENT_SCOPE)
endfunction()

# Compiles what packs floats of the rows into ggml's blocks, and unpacks them; appends to the caller's `objects`, and to the
# table `block_kernels`.
function(qdq_add_blocks target rows)
  qdq_instructions(${target} instructions)
  list(TRANSFORM QDQ_BLOCK_FORMATS PREPEND format= OUTPUT_VARIABLE formats)
  set(QDQ_KERNEL_INCLUDES)
  set(fields)
  foreach(kind quantize_blocks dequantize_blocks)
    set(own_entries)
    foreach(float f32 f16 bf16)
      if(NOT rows MATCHES "_${float}(_|;|$)")
        list(APPEND own_entries "{}")
        continue()
      endif()
      list(TRANSFORM QDQ_BLOCK_FORMATS PREPEND ${kind}_${float}_ OUTPUT_VARIABLE names)
      qdq_add_objects(${target} ${kind} OBJECTS objects NAMES ${names} EACH ${formats} PARAMS float=${float} ${instructions})
      list(TRANSFORM names PREPEND qdq_${target}_)
      list(JOIN names ", " functions)
      list(APPEND own_entries "{${functions}}")
    endforeach()
    list(JOIN own_entries ",\n      " functions)
    list(APPEND fields "{${functions}}")
  endforeach()
  qdq_tuned(${target} dispatch blocks tuned)
  list(TRANSFORM tuned REPLACE "^.*=" "")
  list(JOIN tuned ", " tuned)
  list(JOIN fields ",\n     " fields)
  qdq_add_own_entry(block_kernels "{\"${target}\", {${tuned}},\n     ${fields}}")
  set(objects ${objects} PARENT_SCOPE)
endfunction()

# What a device's generators are told of the build.
function(qdq_device_code_parameters target out)
  qdq_instructions(${target} parameters)
  if(QDQ_KERNEL_ASSERTS)
    list(APPEND parameters asserts=true)
  endif()
  set(cubins)
  if(target STREQUAL cuda)
    qdq_cubin_parameters("${QDQ_CUDA_ARCHITECTURES}" cubins)
  endif()
  set(${out} ${parameters} ${cubins} PARENT_SCOPE)
endfunction()

# Compiles what computes scales of the elements that the rows quantize; appends to the caller's `objects`, and to the
# entries of qdq_write_device_scales.
function(qdq_add_device_scales target rows)
  qdq_quantized_bits("${rows}" sizes)
  qdq_device_code_parameters(${target} parameters)
  set(own_entries)
  set(declarations)
  foreach(bits 16 32)
    if(NOT bits IN_LIST sizes)
      list(APPEND own_entries "{}")
      continue()
    endif()
    list(TRANSFORM QDQ_SCALES_FORMS PREPEND scales_${bits}_ OUTPUT_VARIABLE names)
    list(TRANSFORM QDQ_SCALES_FORMS PREPEND form= OUTPUT_VARIABLE forms)
    qdq_add_objects(${target} scales GENERATOR device_scales OBJECTS objects NAMES ${names} EACH ${forms}
                    PARAMS bits=${bits} ${parameters})
    list(TRANSFORM names REPLACE "(.+)" "qdq_${target}_\\1_argv")
    list(JOIN names ", " fields)
    list(APPEND own_entries "{${fields}}")
    string(APPEND declarations "qdq_device_kernel_function ${fields};\n")
  endforeach()
  list(JOIN own_entries ", " fields)
  set_property(GLOBAL APPEND_STRING PROPERTY QDQ_DEVICE_SCALES_ENTRIES
               "    {\"${target}\", run_dynamic_on_device, {${fields}}},\n")
  set_property(GLOBAL APPEND_STRING PROPERTY QDQ_DEVICE_SCALES_DECLARATIONS "${declarations}")
  set(objects ${objects} PARENT_SCOPE)
endfunction()

# Writes the table of them, of a source of its own, too.
function(qdq_write_device_scales file)
  get_property(declarations GLOBAL PROPERTY QDQ_DEVICE_SCALES_DECLARATIONS)
  get_property(entries GLOBAL PROPERTY QDQ_DEVICE_SCALES_ENTRIES)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "// Generated from kernels/manifest.cmake.
#include \"targets/device_scales.h\"

extern \"C\" {
${declarations}}

namespace qdq::runtime {

const device_scales linked_device_scales[] = {
${entries}    {}};

}  // namespace qdq::runtime
")
endfunction()

# The same for a device's target.
function(qdq_add_device_kernels target rows)
  qdq_require_known(QDQ_DEVICE_TARGETS ${target})
  qdq_device_code_parameters(${target} parameters)
  set(objects)
  set(declarations)
  set(definitions)
  foreach(row ${rows})
    qdq_types_of_row(${row} float stored)
    string(REGEX MATCH "^[a-z]+" op ${row})
    list(TRANSFORM QDQ_DEVICE_FORMS PREPEND ${row}_ OUTPUT_VARIABLE names)
    list(TRANSFORM QDQ_DEVICE_FORMS PREPEND form= OUTPUT_VARIABLE forms)
    qdq_add_objects(${target} device GENERATOR device_${op} OBJECTS objects NAMES ${names} EACH ${forms}
                    PARAMS float=${float} stored=${stored} ${parameters})
    set(entries)
    foreach(name ${names})
      qdq_tuned(${target} device ${name} tuned)
      string(REGEX MATCH "unit_elements=([0-9]+)" unit "${tuned}")
      list(APPEND entries "{qdq_${target}_${name}_argv, ${CMAKE_MATCH_1}}")
      string(APPEND declarations "extern qdq_device_kernel_function qdq_${target}_${name}_argv;\n")
    endforeach()
    list(JOIN entries ", " entries)
    get_property(float_dtype GLOBAL PROPERTY QDQ_TYPE_${float}_DTYPE)
    get_property(stored_dtype GLOBAL PROPERTY QDQ_TYPE_${stored}_DTYPE)
    string(APPEND definitions "#define QDQ_ROW_${target}_${row} {${float_dtype}, ${stored_dtype}, {${entries}}}\n")
  endforeach()
  qdq_add_device_scales(${target} "${rows}")
  qdq_write_link_header(${target} "${declarations}" "${definitions}")
  set(QDQ_KERNEL_OBJECTS ${QDQ_KERNEL_OBJECTS} ${objects} PARENT_SCOPE)
  set(QDQ_KERNEL_INCLUDES "${QDQ_KERNEL_INCLUDES}" PARENT_SCOPE)
endfunction()

# Says what there is to link: see cmake/QdqLinkKernels.cmake.
function(qdq_write_linkable file rows options)
  qdq_device_rows("${rows}" device_rows)
  set(text "# Generated from kernels/manifest.cmake: what qdq_link_kernels has to choose from.
set_property(GLOBAL PROPERTY QDQ_LINKABLE_TARGETS \"${QDQ_TARGETS}\")
set_property(GLOBAL PROPERTY QDQ_LINKABLE_DEVICE_TARGETS \"${QDQ_DEVICE_TARGETS}\")
set_property(GLOBAL PROPERTY QDQ_LINKABLE_ROWS \"${rows}\")
set_property(GLOBAL PROPERTY QDQ_LINKABLE_DEVICE_ROWS \"${device_rows}\")
set_property(GLOBAL PROPERTY QDQ_PICKING_OPTIONS \"${options}\")\n")
  foreach(row ${rows})
    qdq_moving_kernels(${row} shared)
    list(REMOVE_DUPLICATES shared)
    string(APPEND text "set_property(GLOBAL PROPERTY QDQ_SHARED_KERNELS_${row} \"${shared}\")\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "${text}")
endfunction()

# The C type of an element's bits.
function(qdq_c_type type out)
  get_property(bits GLOBAL PROPERTY QDQ_TYPE_${type}_BITS)
  get_property(numbers GLOBAL PROPERTY QDQ_TYPE_${type}_NUMBERS)
  if(type STREQUAL f32)
    set(${out} float PARENT_SCOPE)
  elseif(bits LESS 8)
    set(${out} uint8_t PARENT_SCOPE)
  elseif(numbers STREQUAL SIGNED)
    set(${out} int${bits}_t PARENT_SCOPE)
  else()
    set(${out} uint${bits}_t PARENT_SCOPE)
  endif()
endfunction()

# Writes a row's header of qdq/direct.
function(qdq_write_direct_header row)
  qdq_types_of_row(${row} float stored)
  qdq_c_type(${float} x)
  qdq_c_type(${stored} y)
  string(REGEX MATCH "^[a-z]+" op ${row})
  if(op STREQUAL dequantize)
    qdq_c_type(${stored} x)
    qdq_c_type(${float} y)
  endif()
  set(includes)
  set(calls)
  foreach(target ${QDQ_TARGETS})
    string(APPEND includes "#include \"qdq/link/${target}.h\"\n")
    string(APPEND calls "#if !defined(QDQ_LINKS_TARGETS) || defined(QDQ_LINKS_${target})
    {
        static const struct qdq_${op}_row kernels = QDQ_ROW_${target}_${row};
        if (qdq_direct_can_run(QDQ_NEEDS_${target})) {
            return qdq_direct_${op}(&kernels, x, y, count, scale);
        }
    }
#endif\n")
  endforeach()
  file(CONFIGURE OUTPUT ${QDQ_GENERATED_INCLUDES}/qdq/direct/${row}.h @ONLY CONTENT "/* Generated from kernels/manifest.cmake. */
#ifndef QDQ_DIRECT_${row}_H
#define QDQ_DIRECT_${row}_H

#include \"qdq/direct/direct.h\"
${includes}
/* See qdq/direct/direct.h. */
static inline qdq_status qdq_direct_${row}(const ${x} *x, ${y} *y, int64_t count, float scale) {
${calls}    return qdq_direct_no_target();
}

#endif
")
endfunction()
