// Quantizes the rows of a matrix to int8, each with a scale of its own, and restores them: the C interface from Rust.
// rustc quantize.rs -L native=<folder of libqdq.a> -l static=qdq -l m
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr;

const QDQ_F32: c_int = 0;
const QDQ_I8: c_int = 3;

#[repr(C)]
struct Device {
    kind: c_int,
    id: i32,
    offset: i64,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    dtype: c_int,
    rank: i32,
    shape: *const i64,
    strides: *const i64,
    device: Device,
}

#[repr(C)]
struct Options {
    scale_mode: c_int,
    quantize_zp: c_int,
    dequantize_zp: c_int,
    rounding: c_int,
    no_saturate: i32,
    axis: i32,
    block_size: i64,
    quant_min: i32,
    quant_max: i32,
    packing: c_int,
    block_shape: *const i64,
    stream: *mut c_void,
    stores: c_int,
}

extern "C" {
    fn qdq_quantize(x: *const Tensor, scale: *const Tensor, zero_point: *const Tensor, y: *const Tensor,
                    options: *const Options) -> c_int;
    fn qdq_dequantize(x: *const Tensor, scale: *const Tensor, zero_point: *const Tensor, y: *const Tensor,
                      options: *const Options) -> c_int;
    fn qdq_last_error() -> *const c_char;
    fn qdq_version() -> *const c_char;
}

fn tensor<T>(data: *mut T, dtype: c_int, shape: &[i64]) -> Tensor {
    Tensor {
        data: data as *mut c_void,
        dtype,
        rank: shape.len() as i32,
        shape: shape.as_ptr(),
        strides: ptr::null(),
        device: Device { kind: 0, id: 0, offset: 0 },
    }
}

fn text(c: *const c_char) -> String {
    unsafe { CStr::from_ptr(c) }.to_string_lossy().into_owned()
}

fn check(status: c_int) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(text(unsafe { qdq_last_error() })) }
}

fn main() -> Result<(), String> {
    let mut weights: [f32; 6] = [0.5, -1.0, 0.25, 4.0, 2.0, -3.0];
    let mut scales: [f32; 2] = [1.0 / 127.0, 4.0 / 127.0];
    let mut codes = [0i8; 6];
    let mut restored = [0f32; 6];
    let by_row: Options = unsafe { std::mem::zeroed() }; // the defaults: axis 0
    let x = tensor(weights.as_mut_ptr(), QDQ_F32, &[2, 3]);
    let scale = tensor(scales.as_mut_ptr(), QDQ_F32, &[2]);
    let y = tensor(codes.as_mut_ptr(), QDQ_I8, &[2, 3]);
    let z = tensor(restored.as_mut_ptr(), QDQ_F32, &[2, 3]);
    check(unsafe { qdq_quantize(&x, &scale, ptr::null(), &y, &by_row) })?;
    check(unsafe { qdq_dequantize(&y, &scale, ptr::null(), &z, &by_row) })?;
    eprintln!("qdq {}", text(unsafe { qdq_version() }));
    for (code, value) in codes.iter().zip(restored) {
        println!("{code:4} {value:8.5}");
    }
    Ok(())
}
