(() => {
  const width = innerWidth, height = innerHeight;
  const elements = [], characters = [];
  const round = (value) => Math.round(value * 10) / 10;
  const HIDDEN = new Set(['SCRIPT', 'STYLE', 'HEAD', 'NOSCRIPT', 'TEMPLATE', 'TITLE', 'META', 'LINK']);
  const PRESSED = 'a[href],button,input,select,textarea,option,label,summary,[onclick],[role=button],' +
    '[role=tab],[role=link],[role=menuitem],[role=option],[role=checkbox],[role=radio]';
  const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  const pen = document.createElement('canvas').getContext('2d');
  let word = 0;

  const cut = (box, clip) => {
    const left = Math.max(box.left, clip.left), top = Math.max(box.top, clip.top);
    const right = Math.min(box.right, clip.right), bottom = Math.min(box.bottom, clip.bottom);
    return right - left > 0.5 && bottom - top > 0.5 ? { left, top, right, bottom } : null;
  };
  const reachable = (element, box) => {
    const x0 = (box.left + box.right) / 2, y0 = (box.top + box.bottom) / 2;
    for (const [fx, fy] of [[0, 0], [0, -.6], [0, .6], [-.6, 0], [.6, 0], [-.8, -.8], [.8, .8], [-.8, .8], [.8, -.8]]) {
      const x = Math.min(width - 1, Math.max(0, Math.floor(x0 + fx * (box.right - box.left) / 2)));
      const y = Math.min(height - 1, Math.max(0, Math.floor(y0 + fy * (box.bottom - box.top) / 2)));
      const hit = document.elementFromPoint(x, y);
      if (hit && (hit === element || element.contains(hit))) return [x, y];
    }
    return [-1, -1];
  };
  const kindOf = (element) => {
    const role = element.getAttribute('role');
    if (role) return role;
    if (element.tagName === 'INPUT' || element.tagName === 'BUTTON') return element.type || '';
    if (element.tagName === 'polygon' && element.points.numberOfItems === 3) return 'triangle';
    return '';
  };
  const valueOf = (element) => {
    if (element.tagName === 'SELECT') return element.selectedOptions[0]?.text ?? '';
    if ('value' in element && typeof element.value === 'string' && element.tagName !== 'OPTION'
        && element.tagName !== 'BUTTON') return element.value;
    return '';
  };
  const fillOf = (element) => element instanceof SVGGraphicsElement ? element.getAttribute('fill') ?? '' : '';
  const isOn = (element) => element.checked === true || element.selected === true
    || element.getAttribute('aria-selected') === 'true' || element.getAttribute('aria-checked') === 'true'
    || element.getAttribute('aria-expanded') === 'true';
  const seen = (x, y, owner) => {
    const hit = document.elementFromPoint(x, y);
    return hit !== null && (hit === owner || owner.contains(hit) || hit.contains(owner));
  };

  const addCharacter = (character, box, clip, index, owner) => {
    const visible = cut(box, clip);
    if (!visible) return;
    const area = (visible.right - visible.left) * (visible.bottom - visible.top);
    const whole = (box.right - box.left) * (box.bottom - box.top);
    // less than half of it shows: not to be read
    if (area < whole / 2) return;
    if (owner && !seen((visible.left + visible.right) / 2, (visible.top + visible.bottom) / 2, owner)) return;
    characters.push([character, round(visible.left), round(visible.top), round(visible.right),
      round(visible.bottom), index, word]);
  };

  const range = document.createRange();
  const addText = (node, clip, index, style) => {
    const transform = style.textTransform;
    let gap = true;
    for (const { segment, index: at } of segmenter.segment(node.data)) {
      if (/^\s*$/.test(segment)) { gap = true; continue; }
      if (gap) { word += 1; gap = false; }
      range.setStart(node, at);
      range.setEnd(node, at + segment.length);
      const box = range.getClientRects()[0];
      if (!box || box.width === 0) continue;
      const shown = transform === 'uppercase' ? segment.toUpperCase()
        : transform === 'lowercase' ? segment.toLowerCase() : segment;
      addCharacter(shown, box, clip, index, node.parentElement);
    }
    word += 1;
  };

  // a field's text is in no text node: measure it with the field's font
  const addFieldText = (element, clip, index, style) => {
    const button = ['submit', 'button', 'reset'].includes(element.type);
    const select = element.tagName === 'SELECT';
    let text = select ? valueOf(element) : element.value;
    if (!text && !button) text = element.placeholder ?? '';
    if (!text || ['checkbox', 'radio', 'range', 'color', 'file', 'hidden', 'image'].includes(element.type)) return;
    if (element.type === 'password' && element.value) text = '•'.repeat(element.value.length);
    pen.font = style.font;
    pen.letterSpacing = style.letterSpacing === 'normal' ? '0px' : style.letterSpacing;
    pen.wordSpacing = style.wordSpacing;
    const outer = element.getBoundingClientRect();
    const number = (name) => parseFloat(style[name]) || 0;
    const inner = {
      // Chromium sets a drop-down list's text 4 px in
      left: outer.left + number('borderLeftWidth') + number('paddingLeft') + (select ? 4 : 0),
      right: outer.right - number('borderRightWidth') - number('paddingRight'),
      top: outer.top + number('borderTopWidth') + number('paddingTop'),
      bottom: outer.bottom - number('borderBottomWidth') - number('paddingBottom'),
    };
    const measure = pen.measureText(text);
    const tall = measure.fontBoundingBoxAscent + measure.fontBoundingBoxDescent;
    const area = element.tagName === 'TEXTAREA';
    const step = number('lineHeight') || tall;
    const window_ = cut({ ...inner, top: outer.top, bottom: outer.bottom }, clip);
    if (!window_) return;
    let top = area ? inner.top - element.scrollTop : (inner.top + inner.bottom - tall) / 2;
    for (const line of area ? text.split('\n') : [text]) {
      const long = pen.measureText(line).width;
      let left = inner.left - (element.scrollLeft || 0);
      if (style.textAlign === 'center') left = (inner.left + inner.right - long) / 2;
      else if (style.textAlign === 'right' || style.textAlign === 'end') left = inner.right - long;
      let gap = true, before = '';
      for (const { segment } of segmenter.segment(line)) {
        const from = left + pen.measureText(before).width;
        before += segment;
        if (/^\s*$/.test(segment)) { gap = true; continue; }
        if (gap) { word += 1; gap = false; }
        const to = left + pen.measureText(before).width;
        addCharacter(segment, { left: from, right: to, top, bottom: top + tall }, window_, index, element);
      }
      top += step;
      word += 1;
    }
  };

  const walk = (element, clip, parent) => {
    if (HIDDEN.has(element.tagName)) return;
    const style = getComputedStyle(element);
    if (style.display === 'none' || Number(style.opacity) === 0) return;
    const whole = element.getBoundingClientRect();
    let index = parent, inner = clip;
    const shown = style.visibility === 'visible';
    const box = shown && style.display !== 'contents' ? cut(whole, clip) : null;
    if (box) {
      index = elements.length;
      const hand = style.cursor === 'pointer';
      const flags = (isOn(element) ? 1 : 0) | (document.activeElement === element ? 2 : 0)
        | (hand || element.matches(PRESSED) ? 4 : 0);
      const text = (element.textContent ?? '').replace(/\s+/g, ' ').trim().slice(0, 200);
      const classes = typeof element.className === 'string' ? element.className : element.className?.baseVal ?? '';
      elements.push([element.tagName.toLowerCase(), kindOf(element), text, valueOf(element), flags, element.id,
        classes, fillOf(element), [round(box.left), round(box.top), round(box.right), round(box.bottom)],
        reachable(element, box), parent]);
    }
    if (style.overflowX !== 'visible' || style.overflowY !== 'visible') {
      const border = cut(whole, clip);
      if (!border) return;
      inner = border;
    }
    if (style.position === 'fixed') inner = { left: 0, top: 0, right: width, bottom: height };
    if (['INPUT', 'TEXTAREA', 'SELECT'].includes(element.tagName)) {
      if (shown) addFieldText(element, inner, index, style);
      // a list box shows its options, a drop-down list only the chosen one
      if (element.tagName !== 'SELECT' || element.size < 2 && !element.multiple) return;
    }
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) {
        if (shown && /\S/.test(child.data)) addText(child, inner, index, style);
      } else if (child.nodeType === Node.ELEMENT_NODE) walk(child, inner, index);
    }
  };
  if (document.body) walk(document.body, { left: 0, top: 0, right: width, bottom: height }, -1);
  return { size: [width, height], elements, characters };
})()
