!@ coven module handle(in f64 x[n], in comm c, out i64 number) collective
integer(c_int) function handle(x, c, number, n) bind(c)
  use iso_c_binding
  implicit none
  integer(c_int64_t), value :: n
  real(c_double), intent(in) :: x(n)
  integer(c_int), value :: c
  integer(c_int64_t), intent(out) :: number
  number = c
  handle = 0
end function
