for (const choice of document.querySelectorAll('.choice')) {
  const parts = [...choice.children];
  const menu = document.createElement('select');
  const label = document.createElement('label');
  const show = () => parts.forEach((part, index) => { part.hidden = index !== menu.selectedIndex; });
  const follow = () => {
    const index = parts.findIndex(part => '#' + part.id === location.hash);
    if (index !== -1) { menu.selectedIndex = index; show(); parts[index].scrollIntoView(); }
  };
  parts.forEach(part => menu.add(new Option(part.dataset.name)));
  label.append(choice.dataset.name + ' ', menu);
  choice.before(label);
  menu.addEventListener('change', show);
  addEventListener('hashchange', follow);
  show();
  follow();
}
