use super::window::Window;

#[test]
fn windows_are_aligned_and_keep_what_they_are_told_to() {
    let mut window = Window::default();
    let mut expect: Vec<u8> = Vec::new();
    let sizes = [(0, 10), (3, 100), (103, 1), (50, 4096), (64, 64), (128, 5000), (0, 7), (9, 9)];
    for (round, (keep, len)) in (0_u8..).zip(sizes) {
        let room = window.next(keep, len);
        assert_eq!(room.len(), len);
        assert_eq!(room.as_ptr().align_offset(64), 0);
        room.fill(round);
        window.filled(len);
        expect.drain(..expect.len().saturating_sub(keep));
        expect.extend(std::iter::repeat_n(round, len));
        assert_eq!(window.data(), expect);
    }
}
