// Run by gradio where a message is to be: shows the one in its value, in the language of the page.
const line = element.querySelector('.tv-message');
const show = first => {
  const value = typeof props.value === 'string' ? props.value : '';
  const said = value.replace(/^(ok|busy|error):/, '').split('\x1f');
  line.textContent = said[props.languages.indexOf(document.documentElement.lang)] ?? said[0];
  line.dataset.kind = (value.match(/^(ok|busy|error):/) || ['', ''])[1];
  line.hidden = !line.textContent;
  // An answer is brought into sight; in the next painting, when the line has its room.
  if (first === true || !['ok', 'error'].includes(line.dataset.kind)) return;
  requestAnimationFrame(() => {
    const open = line.getBoundingClientRect().right > 0; // not in a closed sidebar
    if (open) line.scrollIntoView({block: 'nearest'});
  });
};
watch('value', show);
show(true);
new MutationObserver(() => show(true)).observe(document.documentElement, {attributes: true, attributeFilter: ['lang']});
