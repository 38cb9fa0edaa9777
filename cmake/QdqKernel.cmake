# From kernels/manifest.cmake to objects, the dispatch table and the table of element types.
include(QdqTuned)

# Keeps a row's fields as properties <prefix>_<field>; a field that is not given is the default of its name.
function(qdq_keep_fields prefix)
  foreach(field ${ARGN})
    set_property(GLOBAL PROPERTY ${prefix}_${field} "${arg_${field}}")
  endforeach()
endfunction()

# Records a target; see kernels/manifest.cmake.
function(qdq_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROCESSOR;HALIDE;SCHEDULE;NONTEMPORAL;ENCODE" "INSTRUCTIONS;NEEDS;LOOKUP")
  set(arg_LOOKUP_BITS ${arg_LOOKUP})
  list(POP_FRONT arg_LOOKUP_BITS arg_LOOKUP)
  foreach(primitive NONTEMPORAL LOOKUP ENCODE)
    if(arg_${primitive})
      set(arg_${primitive} "&${arg_${primitive}}")
    else()
      set(arg_${primitive} nullptr)
    endif()
  endforeach()
  if(NOT arg_SCHEDULE)
    set(arg_SCHEDULE ${name})
  endif()
  qdq_keep_fields(QDQ_TARGET_${name} PROCESSOR HALIDE SCHEDULE NONTEMPORAL LOOKUP LOOKUP_BITS ENCODE INSTRUCTIONS NEEDS)
  set_property(GLOBAL APPEND PROPERTY QDQ_KNOWN_TARGETS ${name})
endfunction()

# Records a device's target; see kernels/manifest.cmake.
function(qdq_device_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HALIDE;DEVICE" "INSTRUCTIONS")
  set(arg_SCHEDULE ${name})
  qdq_keep_fields(QDQ_TARGET_${name} HALIDE DEVICE SCHEDULE INSTRUCTIONS)
  set_property(GLOBAL APPEND PROPERTY QDQ_KNOWN_DEVICE_TARGETS ${name})
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
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "BLOCK" "ROLES")
  set(layout {})
  set(code_bits ${bits})
  if(numbers STREQUAL FLOAT)
    list(GET arg_UNPARSED_ARGUMENTS 0 exponent_bits)
    list(GET arg_UNPARSED_ARGUMENTS 1 mantissa_bits)
    math(EXPR code_bits "1 + ${exponent_bits} + ${mantissa_bits}")
    list(TRANSFORM arg_UNPARSED_ARGUMENTS REPLACE "^([a-z].*)$" "specials::\\1")
    list(JOIN arg_UNPARSED_ARGUMENTS ", " layout)
    set(layout "{${layout}}")
  endif()
  set(kind_SIGNED signed_integers)
  set(kind_UNSIGNED unsigned_integers)
  set(kind_FLOAT floats)
  set(roles)
  foreach(role floats stored scale zero_point)
    if(role IN_LIST arg_ROLES)
      list(APPEND roles ".${role} = true")
      set_property(GLOBAL APPEND PROPERTY QDQ_TYPES_OF_ROLE_${role} ${name})
    endif()
  endforeach()
  list(JOIN roles ", " roles)
  if(NOT arg_BLOCK)
    set(arg_BLOCK 0)
  endif()
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_DTYPE ${dtype})
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_BITS ${bits})
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_CODE_BITS ${code_bits})
  set_property(GLOBAL PROPERTY QDQ_TYPE_${name}_NUMBERS ${numbers})
  set_property(GLOBAL APPEND_STRING PROPERTY QDQ_ELEMENT_TYPES
               "    {\"${name}\", ${dtype}, ${bits}, numbers::${kind_${numbers}}, ${layout}, {${roles}}, ${arg_BLOCK}},\n")
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

# The Halide target string of a qdq target. A device's kernels keep the assertions, which report what the device does not do.
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

# qdq_add_objects(<target> <kind> OBJECTS <variable> NAMES <kernel>... EACH <params of one>... PARAMS <params of all>...)
# One object and header for each kernel, of symbol qdq_<target>_<kernel>, by the generator of its kind (of devices'
# kernels: GENERATOR). EACH holds as many entries as NAMES, of params with | between them.
function(qdq_add_objects target kind)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "OBJECTS;GENERATOR" "NAMES;PARAMS;EACH")
  if(NOT arg_GENERATOR)
    set(arg_GENERATOR ${kind})
  endif()
  qdq_halide_target(${target} halide_target)
  get_property(schedule GLOBAL PROPERTY QDQ_TARGET_${target}_SCHEDULE)
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
    list(APPEND commands COMMAND ${QDQ_GENERATORS} -g ${arg_GENERATOR} -f ${name} -n ${name} -e object,c_header -o ${folder}
         target=${halide_target} schedule=${schedule} ${arg_PARAMS} ${params} ${tuned})
    string(APPEND QDQ_KERNEL_INCLUDES "#include \"${target}/${name}.h\"\n")
    qdq_list_kernel(${target} ${kind} ${kernel} ${arg_GENERATOR} ${folder}/${name}.o
                    "target=${halide_target};schedule=${schedule};${arg_PARAMS};${params}" "${tuned}")
  endforeach()
  list(GET arg_NAMES 0 first)
  add_custom_command(OUTPUT ${own_objects} ${headers} ${commands} DEPENDS ${QDQ_GENERATORS_DEPENDS}
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
  set(runtime $<TARGET_OBJECTS:qdq_objects> ${halide_runtime})
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

# Whether a target has tables of a pair's results.
function(qdq_looks_up target float stored out)
  get_property(lookup_bits GLOBAL PROPERTY QDQ_TARGET_${target}_LOOKUP_BITS)
  get_property(code_bits GLOBAL PROPERTY QDQ_TYPE_${stored}_CODE_BITS)
  get_property(numbers GLOBAL PROPERTY QDQ_TYPE_${stored}_NUMBERS)
  get_property(float_bits GLOBAL PROPERTY QDQ_TYPE_${float}_BITS)
  set(${out} OFF PARENT_SCOPE)
  if(code_bits IN_LIST lookup_bits AND (code_bits EQUAL 4 OR (numbers STREQUAL FLOAT AND float_bits EQUAL 16)))
    set(${out} ON PARENT_SCOPE)
  endif()
endfunction()

# Compiles every row of the manifest for one target; appends to the caller's QDQ_KERNEL_OBJECTS and to the texts of
# runtime/src/targets/kernel_rows.cpp.in.
function(qdq_add_target_kernels target)
  qdq_instructions(${target} instructions)
  get_property(schedule GLOBAL PROPERTY QDQ_TARGET_${target}_SCHEDULE)
  get_property(lookup GLOBAL PROPERTY QDQ_TARGET_${target}_LOOKUP)
  get_property(encode GLOBAL PROPERTY QDQ_TARGET_${target}_ENCODE)
  set(objects)
  set(tables)
  foreach(op quantize dequantize)
    set(rows)
    foreach(float ${QDQ_FLOAT_TYPES})
      foreach(stored ${QDQ_STORED_TYPES})
        qdq_pair_name(${op} ${float} ${stored} pair)
        set(own_forms ${QDQ_FORMS})
        qdq_looks_up(${target} ${float} ${stored} looks_up)
        if(op STREQUAL dequantize AND looks_up)
          list(APPEND own_forms table)
        endif()
        list(TRANSFORM own_forms PREPEND ${pair}_ OUTPUT_VARIABLE names)
        list(TRANSFORM own_forms PREPEND form= OUTPUT_VARIABLE forms)
        qdq_add_objects(${target} ${op} OBJECTS objects NAMES ${names} EACH ${forms}
                        PARAMS float=${float} stored=${stored} ${instructions})
        qdq_functions(${target} "${names}" functions)
        get_property(float_dtype GLOBAL PROPERTY QDQ_TYPE_${float}_DTYPE)
        get_property(stored_dtype GLOBAL PROPERTY QDQ_TYPE_${stored}_DTYPE)
        qdq_tuned(${target} dispatch ${pair} tuned)
        qdq_list_kernel(${target} dispatch ${pair} "" "" "schedule=${schedule}" "${tuned}")
        list(TRANSFORM tuned REPLACE "^" "." OUTPUT_VARIABLE tuned)
        list(JOIN tuned ", " tuned)
        string(APPEND rows "    {${float_dtype}, ${stored_dtype}, {${functions}},\n     {${tuned}}},\n")
      endforeach()
    endforeach()
    string(APPEND tables "const kernel_row<${op}_kernel> ${target}_${op}[] = {\n${rows}};\n")
  endforeach()

  list(TRANSFORM QDQ_TRANSPOSED_BITS PREPEND transpose_ OUTPUT_VARIABLE names)
  list(TRANSFORM QDQ_TRANSPOSED_BITS PREPEND bits= OUTPUT_VARIABLE bits)
  qdq_add_objects(${target} transpose OBJECTS objects NAMES ${names} EACH ${bits})
  qdq_functions(${target} "${names}" transposes)

  list(TRANSFORM QDQ_REPACKINGS PREPEND change= OUTPUT_VARIABLE changes)
  qdq_add_objects(${target} repack OBJECTS objects NAMES ${QDQ_REPACKINGS} EACH ${changes})
  qdq_functions(${target} "${QDQ_REPACKINGS}" repackings)

  get_property(needs GLOBAL PROPERTY QDQ_TARGET_${target}_NEEDS)
  list(JOIN needs "|" needs)
  get_property(nontemporal GLOBAL PROPERTY QDQ_TARGET_${target}_NONTEMPORAL)
  set(QDQ_KERNEL_OBJECTS ${QDQ_KERNEL_OBJECTS} ${objects} PARENT_SCOPE)
  set(QDQ_KERNEL_INCLUDES "${QDQ_KERNEL_INCLUDES}" PARENT_SCOPE)
  set(QDQ_KERNEL_TABLES "${QDQ_KERNEL_TABLES}${tables}" PARENT_SCOPE)
  set(QDQ_TARGET_ROWS "${QDQ_TARGET_ROWS}    {\"${target}\", ${needs}, ${target}_quantize, ${target}_dequantize,
     std::size(${target}_quantize), std::size(${target}_dequantize), {${transposes}},
     ${repackings}, ${nontemporal}, ${lookup}, ${encode}},\n" PARENT_SCOPE)
endfunction()

# The functions of kernels, with commas between.
function(qdq_functions target names out)
  list(TRANSFORM names PREPEND qdq_${target}_)
  list(JOIN names ", " functions)
  set(${out} "${functions}" PARENT_SCOPE)
endfunction()

# The same for a device's target.
function(qdq_add_device_kernels target)
  qdq_require_known(QDQ_DEVICE_TARGETS ${target})
  qdq_instructions(${target} instructions)
  get_property(device GLOBAL PROPERTY QDQ_TARGET_${target}_DEVICE)
  set(objects)
  set(rows)
  foreach(float ${QDQ_FLOAT_TYPES})
    foreach(stored ${QDQ_STORED_TYPES})
      set(row)
      foreach(op quantize dequantize)
        qdq_pair_name(${op} ${float} ${stored} pair)
        list(TRANSFORM QDQ_DEVICE_FORMS PREPEND ${pair}_ OUTPUT_VARIABLE names)
        list(TRANSFORM QDQ_DEVICE_FORMS PREPEND form= OUTPUT_VARIABLE forms)
        qdq_add_objects(${target} device GENERATOR device_${op} OBJECTS objects NAMES ${names} EACH ${forms}
                        PARAMS float=${float} stored=${stored} ${instructions})
        set(entries)
        foreach(name ${names})
          qdq_tuned(${target} device ${name} tuned)
          string(REGEX MATCH "unit_elements=([0-9]+)" unit "${tuned}")
          list(APPEND entries "{qdq_${target}_${name}_argv, ${CMAKE_MATCH_1}}")
        endforeach()
        list(JOIN entries ", " entries)
        list(APPEND row "{${entries}}")
      endforeach()
      list(JOIN row ", " row)
      get_property(float_dtype GLOBAL PROPERTY QDQ_TYPE_${float}_DTYPE)
      get_property(stored_dtype GLOBAL PROPERTY QDQ_TYPE_${stored}_DTYPE)
      string(APPEND rows "    {${float_dtype}, ${stored_dtype}, ${row}},\n")
    endforeach()
  endforeach()
  set(QDQ_KERNEL_OBJECTS ${QDQ_KERNEL_OBJECTS} ${objects} PARENT_SCOPE)
  set(QDQ_KERNEL_INCLUDES "${QDQ_KERNEL_INCLUDES}" PARENT_SCOPE)
  set(QDQ_KERNEL_TABLES "${QDQ_KERNEL_TABLES}const device_row ${target}_rows[] = {\n${rows}};\n" PARENT_SCOPE)
  set(QDQ_TARGET_ROWS "${QDQ_TARGET_ROWS}    {.name = \"${target}\", .device = &${device}, .device_rows = ${target}_rows,
     .device_count = std::size(${target}_rows)},\n" PARENT_SCOPE)
endfunction()
