//! Prints an ID of the tag that is named and a snowflake ID.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

type Ptr = *mut c_void;

#[link(name = "leaf")]
extern "C" {
    fn leaf_allocator_open(options: *const c_void, e: *mut Ptr) -> Ptr;
    fn leaf_allocator_tag(a: Ptr, name: *const c_char, e: *mut Ptr) -> Ptr;
    fn leaf_tag_next(tag: Ptr, id: *mut i64, e: *mut Ptr) -> c_int;
    fn leaf_generator_open(options: *const c_void, e: *mut Ptr) -> Ptr;
    fn leaf_generator_next(g: Ptr, id: *mut i64, e: *mut Ptr) -> c_int;
    fn leaf_error_status(error: Ptr) -> c_int;
    fn leaf_error_text(error: Ptr) -> *const c_char;
}

/// Gives the call a place for an error, and ends where one came.
fn call<T>(work: impl FnOnce(*mut Ptr) -> T) -> T {
    let mut error: Ptr = null_mut();
    let result = work(&mut error);
    if error.is_null() {
        return result;
    }
    let text = unsafe { CStr::from_ptr(leaf_error_text(error)) };
    eprintln!("{}", text.to_string_lossy());
    std::process::exit(unsafe { leaf_error_status(error) })
}

fn main() {
    let name = std::env::args().nth(1).expect("name a tag");
    let name = CString::new(name).expect("no zero bytes");
    let mut id = 0;
    unsafe {
        let all = call(|e| leaf_allocator_open(null(), e));
        let tag = call(|e| leaf_allocator_tag(all, name.as_ptr(), e));
        call(|e| leaf_tag_next(tag, &mut id, e));
        println!("{id}");
        let generator = call(|e| leaf_generator_open(null(), e));
        call(|e| leaf_generator_next(generator, &mut id, e));
        println!("{id}");
    }
}
